import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON
import TokenRelay

/// `/api/v1/conversations`: a user's conversations and their messages.
public struct ConversationRoutes: Feature {
    private static let titleLimit = 200
    private static let order = RouteParameter(
        "order", in: .query,
        .values(MessageOrder.allCases.map(\.rawValue)).described("asc unless given: the oldest first; desc excludes updated_since"))
    private static let versioned = VersionedResource<ConversationRecord, ConversationResource>({ .init($0) }, version: \.version)

    private let conversations: ConversationRepository
    private let registry: TurnRegistry
    private let recovery: TurnRecovery

    public init(conversations: ConversationRepository, registry: TurnRegistry, recovery: TurnRecovery) {
        self.conversations = conversations
        self.registry = registry
        self.recovery = recovery
    }

    public func register(on routes: RouteTable) {
        let users = routes.authenticated("Conversations")
        users.get(
            "/api/v1/conversations",
            .init(
                "List conversations",
                parameters: PageQuery.parameters + [.init("source", in: .query, .values(ConversationSource.listed.map(\.rawValue)))],
                response: .list(ConversationResource.schema))
        ) { try await list($0, $1) }
        users.create(
            "/api/v1/conversations", "Create an empty conversation", body: Draft.body, versioned: Self.versioned
        ) { draft, id, context in
            let conversation = ConversationDraft(
                id: ConversationID(draft.id ?? id), title: draft.title, domain: try domain(draft.domain),
                personaID: draft.personaID.map(PersonaID.init), isEphemeral: draft.ephemeral)
            do {
                return try await conversations.create(context.caller, conversation)
            } catch let rejection as Rejection where rejection.reason == .notFound && draft.id != nil {
                throw GatewayError(.invalidInput, "the id is that of a deleted conversation").naming(field: "id")
            }
        }
        users.get("/api/v1/conversations/{id}", .init("Get a conversation", response: .data(ConversationResource.schema).versioned)) {
            request, context in Self.versioned.response(try await conversations.get(context.caller, try id(context)), request, context)
        }
        users.patch(
            "/api/v1/conversations/{id}",
            .init(
                "Change title or domain (RFC 7396)", parameters: [.optionalIfMatch], body: Change.body,
                response: .data(ConversationResource.schema).versioned)
        ) { try await patch($0, $1) }
        users.delete("/api/v1/conversations/{id}", .init("Delete a conversation", parameters: [.optionalIfMatch], response: .data(.any))) {
            try await delete($0, $1)
        }
        users.get(
            "/api/v1/conversations/{id}/messages",
            .init(
                "List messages, oldest first or newest first", parameters: PageQuery.parameters + [Self.order],
                response: .list(MessageResource.schema))
        ) { try await messages($0, $1) }
    }

    private func list(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let text = request.uri.queryParameters["source"].map(String.init)
        guard let source = text.map(ConversationSource.init) ?? .app, ConversationSource.listed.contains(source) else {
            throw GatewayError(.invalidInput, "source must be app or openai").naming(field: "source")
        }
        let page = try await conversations.list(context.caller, source, try PageQuery.read(request))
        return .list(request, context, page, ConversationResource.init)
    }

    private func patch(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try id(context)
        return try await Self.versioned.edit(
            request, context, requiresVersion: false, current: { try await conversations.get(context.caller, id) }
        ) { expectedVersions in
            let body = try await request.read(Change.body)
            var change = ConversationPatch(title: body.title, expectedVersions: expectedVersions)
            if let text = body.domain { change.domain = .some(try domain(text)) }
            return try await conversations.patch(context.caller, id, change)
        }
    }

    private func delete(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let id = try id(context)
        let expected = try request.expectedVersion(required: false)
        return try await Self.versioned.reportingStale(current: { try await conversations.get(context.caller, id) }) {
            if let running = try await conversations.delete(context.caller, id, expected.versions) {
                // Stops the running turn, here or on its instance. It is billed as if the user had stopped it.
                if let turn = registry.turn(running) { turn.stop() } else { _ = try await recovery.requestStop(context.caller, running) }
            }
            return .envelope(context)
        }
    }

    private func messages(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let page = try await conversations.messages(context.caller, try id(context), try order(request), try PageQuery.read(request))
        return .list(request, context, page, MessageResource.init)
    }

    private func order(_ request: Request) throws(GatewayError) -> MessageOrder {
        let query = request.uri.queryParameters
        guard let text = query[Substring(Self.order.name)] else { return .oldestFirst }
        guard let order = MessageOrder(rawValue: String(text)) else {
            throw GatewayError(.invalidInput, "order must be asc or desc").naming(field: Self.order.name)
        }
        if order == .newestFirst, query["updated_since"] != nil {
            throw GatewayError(.invalidInput, "order=desc and updated_since exclude each other").naming(field: Self.order.name)
        }
        return order
    }

    private func id(_ context: AuthenticatedContext) throws(GatewayError) -> ConversationID {
        try context.path("id", ConversationID.init(validating:))
    }

    private func domain(_ text: String?) throws(GatewayError) -> Domain? {
        guard let text else { return nil }
        guard let domain = Domain(rawValue: text) else { throw .unknownDomain }
        return domain
    }

    /// The body of a creation.
    private struct Draft: Sendable {
        var id: UUID?
        var title: String?
        var domain: String?
        var personaID: UUID?
        var ephemeral: Bool

        static let body = JSONBody(
            "ConversationDraft",
            descriptions: [
                "id": "chosen by the client; the same again answers the user's conversation that has it",
                "ephemeral": "removed a day after its last message",
            ], Draft.init)

        private init(_ body: JSONReader) throws(JSONFinding) {
            id = try body.optional("id")
            title = try body.optional("title", .text(0...titleLimit))
            domain = try body.optional("domain", .domain)
            personaID = try body.optional("persona_id")
            ephemeral = try body.optional("ephemeral") ?? false
        }
    }

    /// The body of a change. A field that is nil is left unchanged; `.some(nil)` clears it.
    private struct Change: Sendable {
        var title: String??
        var domain: String??

        static let body = JSONBody("ConversationPatch", Change.init)

        private init(_ body: JSONReader) throws(JSONFinding) {
            if body.contains("title") { title = .some(try body.optional("title", .text(0...titleLimit))) }
            if body.contains("domain") { domain = .some(try body.optional("domain", .domain)) }
        }
    }
}

extension JSONField<String> {
    /// A name that is no domain is another error than those of a body (CONTRACT §2).
    fileprivate static var domain: Self { .text(0...64, declaredAs: Domain.allCases.map(\.rawValue)) }
}
