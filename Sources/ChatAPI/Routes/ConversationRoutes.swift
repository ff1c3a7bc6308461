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
            .init("List conversations", parameters: PageQuery.parameters, response: .list(ConversationResource.schema))
        ) { try await list($0, $1) }
        users.post(
            "/api/v1/conversations",
            .init("Create an empty conversation", body: Self.draft, response: .data(ConversationResource.schema, status: .created))
        ) { try await create($0, $1) }
        users.get("/api/v1/conversations/{id}", .init("Get a conversation", response: .data(ConversationResource.schema))) {
            _, context in respond(context, try await conversations.get(context.caller, try id(context)))
        }
        users.patch(
            "/api/v1/conversations/{id}",
            .init("Change title or domain (RFC 7396)", body: Self.change, response: .data(ConversationResource.schema))
        ) { try await patch($0, $1) }
        users.delete("/api/v1/conversations/{id}", .init("Delete a conversation", response: .data(.any))) { try await delete($0, $1) }
        users.get(
            "/api/v1/conversations/{id}/messages",
            .init("List messages", parameters: PageQuery.parameters, response: .list(MessageResource.schema))
        ) { try await messages($0, $1) }
    }

    private static let change = Schema.object([
        .optional("title", .text(maximumLength: titleLimit)), .optional("domain", .values(Domain.allCases.map(\.rawValue))),
    ]).named("ConversationPatch")

    private static let draft = Schema.object([
        .optional("title", .text(maximumLength: titleLimit)), .optional("domain", .values(Domain.allCases.map(\.rawValue))),
        .optional("persona_id", .id),
    ]).named("ConversationDraft")

    private func list(_ request: Request, _ context: Authenticated) async throws -> Response {
        let page = try await conversations.list(context.caller, try PageQuery.read(request))
        return .list(request, context, page, ConversationResource.init)
    }

    private func create(_ request: Request, _ context: Authenticated) async throws -> Response {
        let bytes = try await request.collectBytes()
        let body = try JSONReader(requestBody: bytes.isEmpty ? Array("{}".utf8) : bytes)
        let draft = ConversationDraft(
            title: try body.optional("title", .text(0...Self.titleLimit)), domain: try domain(in: body),
            personaID: try body.optional("persona_id"))
        return respond(context, try await conversations.create(context.caller, draft), status: .created)
    }

    private func patch(_ request: Request, _ context: Authenticated) async throws -> Response {
        let body = try JSONReader(requestBody: try await request.collectBytes())
        var change = ConversationPatch()
        if body.contains("title") { change.title = .some(try body.optional("title", .text(0...Self.titleLimit))) }
        if body.contains("domain") { change.domain = .some(try domain(in: body)) }
        return respond(context, try await conversations.patch(context.caller, try id(context), change))
    }

    private func delete(_ request: Request, _ context: Authenticated) async throws -> Response {
        if let running = try await conversations.delete(context.caller, try id(context)) {
            // Still billed: the turn ends as if the user had stopped it, here or on the instance that runs it.
            if let turn = registry.turn(running) { turn.stop() } else { _ = try await recovery.requestStop(context.caller, running) }
        }
        return .envelope(context) { $0.null() }
    }

    private func messages(_ request: Request, _ context: Authenticated) async throws -> Response {
        let page = try await conversations.messages(context.caller, try id(context), try PageQuery.read(request))
        return .list(request, context, page, MessageResource.init)
    }

    /// 404 for a malformed id, too.
    private func id(_ context: Authenticated) throws(GatewayError) -> ConversationID {
        guard let id = context.parameters.get("id").flatMap({ ConversationID(validating: $0) }) else { throw .notFound }
        return id
    }

    private func domain(in body: JSONReader) throws -> Domain? {
        guard let text = try body.optional("domain", .text(0...64)) else { return nil }
        guard let domain = Domain(rawValue: text) else {
            throw GatewayError(.personaOrDomainUnavailable, "there is no such domain").naming(field: "domain")
        }
        return domain
    }

    private func respond(_ context: Authenticated, _ record: ConversationRecord, status: HTTPResponse.Status = .ok) -> Response {
        .envelope(context, status: status) { ConversationResource(record).write(to: &$0) }
    }
}

extension ConversationResource {
    fileprivate init(_ record: ConversationRecord) {
        self.init(
            id: record.id.uuid, title: record.title, domain: record.domain?.rawValue, personaID: record.personaID?.uuid,
            lastMessageAt: Timestamp(record.lastMessageAt), createdAt: Timestamp(record.createdAt), updatedAt: Timestamp(record.updatedAt),
            deletedAt: record.deletedAt.map(Timestamp.init))
    }
}

extension MessageResource {
    fileprivate init(_ record: MessageRecord) {
        self.init(
            id: record.id.uuid, role: record.role.rawValue, content: record.content, status: record.status.rawValue,
            domain: record.domain?.rawValue, createdAt: Timestamp(record.createdAt), updatedAt: Timestamp(record.updatedAt),
            turnID: record.turnID?.uuid)
    }
}
