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
            guard let model = try await models(of: context.caller).first(where: { $0.name == name }) else { throw GatewayError.notFound }
            return .json(JSONWriter.encode { Self.write(model, to: &$0) })
        }
    }

    /// Names, and Unix seconds of publication.
    private func models(of caller: Caller) async throws -> [(name: String, created: Int)] {
        var models = [(name: CoachModel.name(nil), created: 0)]
        var request = PageRequest(limit: Self.pageSize)
        for _ in 0..<Self.maximumPages {
            let page = try await personas.published(caller, request)
            models += page.items.map { (CoachModel.name($0.id, slug: $0.slug), Int($0.publishedAt.timeIntervalSince1970)) }
            request.cursor = page.nextCursor
            if page.nextCursor == nil { break }
        }
        return models
    }

    private static func write(_ model: (name: String, created: Int), to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", model.name)
            writer.member("object", "model")
            writer.member("created", model.created)
            writer.member("owned_by", "coach")
        }
    }
}
