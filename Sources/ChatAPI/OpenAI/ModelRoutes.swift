import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `GET /v1/models` and `GET /v1/models/{id}`: the coach, and a model for each persona that the caller may use.
public struct ModelRoutes: Feature {
    private static let pageSize = 100
    /// Personas beyond this number are not listed; their models can be used.
    private static let maximumPages = 10

    private let personas: PersonaRepository

    public init(personas: PersonaRepository) { self.personas = personas }

    public func register(on routes: RouteTable) {
        routes.authenticated("OpenAI").get("/v1/models", .init("List models", response: .media("application/json"))) { _, context in
            let models = try await models(of: context.caller)
            return .json(OpenAIList.encode { writer in for model in models { Self.write(model, to: &writer) } })
        }
        routes.authenticated("OpenAI").get(
            "/v1/models/{id}",
            .init("Get a model", parameters: [.init("id", in: .path, .text)], response: .media("application/json"))
        ) { _, context in
            let name = context.parameters.get("id")?.removingPercentEncoding ?? ""
            guard let model = CoachModel(name) else { throw GatewayError.unknownModel }
            let found = try await persona(of: model, context.caller).map(Self.model(of:)) ?? Self.plain
            return .json(JSONWriter.encode { Self.write(found, to: &$0) })
        }
    }

    /// A name, and Unix seconds of publication.
    private typealias Model = (name: String, created: Int)

    private static let plain: Model = (CoachModel.name(nil), 0)

    private static func model(of persona: PublishedPersona) -> Model {
        (CoachModel.name(persona.id, slug: persona.slug), Int(persona.publishedAt.timeIntervalSince1970))
    }

    /// nil for the plain coach.
    private func persona(of model: CoachModel, _ caller: Caller) async throws -> PublishedPersona? {
        do {
            if let id = model.personaID { return try await personas.publishedOne(caller, id) }
            if let slug = model.slug { return try await personas.publishedBySlug(caller, slug) }
            return nil
        } catch let rejection as Rejection where rejection.reason == .notFound {
            throw GatewayError.unknownModel
        }
    }

    private func models(of caller: Caller) async throws -> [Model] {
        var models = [Self.plain]
        var request = PageRequest(limit: Self.pageSize)
        for _ in 0..<Self.maximumPages {
            let page = try await personas.published(caller, request)
            models += page.items.map(Self.model(of:))
            request.cursor = page.nextCursor
            if page.nextCursor == nil { break }
        }
        return models
    }

    private static func write(_ model: Model, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", model.name)
            writer.member("object", "model")
            writer.member("created", model.created)
            writer.member("owned_by", "coach")
        }
    }
}
