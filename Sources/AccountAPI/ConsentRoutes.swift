import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/me/consents`: what the user decided about the use of what they write.
public struct ConsentRoutes: Feature {
    private let consents: ConsentRepository
    private let required: RequiredConsents

    public init(consents: ConsentRepository, required: RequiredConsents) {
        self.consents = consents
        self.required = required
    }

    public func register(on routes: RouteTable) {
        let users = routes.authenticated("Account")
        users.get(
            "/api/v1/me/consents",
            .init(
                "List every kind of consent with the latest decision", parameters: PageQuery.cursorParameters,
                response: .list(ConsentResource.schema))
        ) { request, context in
            let page = try Page(of: ConsentKind.allCases, try PageQuery.read(request))
            let decisions = try await consents.current(context.caller)
            return .list(request, context, page) { resource($0, decisions) }
        }
        users.put(
            "/api/v1/me/consents/{kind}",
            .init(
                "Record a decision; earlier ones are kept",
                parameters: [.init("kind", in: .path, .values(ConsentKind.allCases.map(\.rawValue)))],
                body: Self.decision, response: .data(ConsentResource.schema))
        ) { try await decide($0, $1) }
    }

    private static let decision = JSONBody("ConsentDecision") { (body) throws(JSONFinding) in
        (granted: try body.required("granted", as: Bool.self), version: try body.required("version", .text(1...64)))
    }

    private func decide(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let kind = try context.path("kind", ConsentKind.init(rawValue:))
        let decision = try await request.read(Self.decision)
        try await consents.record(context.caller, kind, decision.version, decision.granted)
        let decisions = try await consents.current(context.caller)
        return .envelope(context, resource(kind, decisions))
    }

    private func resource(_ kind: ConsentKind, _ decisions: [ConsentRecord]) -> ConsentResource {
        let decision = decisions.first { $0.kind == kind }
        return ConsentResource(
            kind: kind.rawValue, required: required.kinds.contains(kind), granted: decision?.isGranted, version: decision?.version,
            decidedAt: decision.map { Timestamp($0.decidedAt) })
    }
}
