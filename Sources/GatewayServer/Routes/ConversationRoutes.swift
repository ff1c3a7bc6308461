import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import Identity
import JSON
import TokenRelay

/// `/api/v1/conversations`: what a user has said and heard.
struct ConversationRoutes: Sendable {
    static let titleLimit = 200

    let identity: TokenVerifier
    let counter: RequestCounter
    let conversations: ConversationRepository
    let registry: TurnRegistry
    let recovery: TurnRecovery

    func register(on router: some RouterMethods<GatewayContext>) {
        router.route("/api/v1/conversations", [.get: { try await list($0, $1) }, .post: { try await create($0, $1) }])
        router.route(
            "/api/v1/conversations/{id}",
            [.get: { try await get($0, $1) }, .patch: { try await patch($0, $1) }, .delete: { try await delete($0, $1) }])
        router.route("/api/v1/conversations/{id}/messages", [.get: { try await messages($0, $1) }])
    }

    private func list(_ request: Request, _ context: GatewayContext) async throws -> Response {
        try await counted(request) { caller in
            let page = try await conversations.list(caller, try request.page())
            return .envelope(context, pagination: Pagination(page)) { writer in
                writer.array { writer in for item in page.items { ConversationResource(item).write(to: &writer) } }
            }
        }
    }

    private func get(_ request: Request, _ context: GatewayContext) async throws -> Response {
        try await counted(request) { caller in one(context, try await conversations.get(caller, try id(context))) }
    }

    private func create(_ request: Request, _ context: GatewayContext) async throws -> Response {
        try await counted(request) { caller in
            let body = try JSONReader(body: try await request.collectBytes(), allowingNothing: true)
            let draft = ConversationDraft(
                title: try body.title(), domain: try body.domain(),
                personaID: try body.optional("persona_id"))
            return one(context, try await conversations.create(caller, draft), status: .created)
        }
    }

    private func patch(_ request: Request, _ context: GatewayContext) async throws -> Response {
        try await counted(request) { caller in
            let body = try JSONReader(body: try await request.collectBytes(), allowingNothing: false)
            var change = ConversationPatch()
            if body.contains("title") { change.title = .some(try body.title()) }
            if body.contains("domain") { change.domain = .some(try body.domain()) }
            return one(context, try await conversations.patch(caller, try id(context), change))
        }
    }

    private func delete(_ request: Request, _ context: GatewayContext) async throws -> Response {
        try await counted(request) { caller in
            if let running = try await conversations.delete(caller, try id(context)) {
                // Still billed: the turn ends as if its user had stopped it, here or on the instance that runs it.
                if let turn = registry.turn(running) { turn.stop() } else { _ = try await recovery.requestStop(caller, running) }
            }
            return .envelope(context) { $0.null() }
        }
    }

    private func messages(_ request: Request, _ context: GatewayContext) async throws -> Response {
        try await counted(request) { caller in
            let page = try await conversations.messages(caller, try id(context), try request.page())
            return .envelope(context, pagination: Pagination(page)) { writer in
                writer.array { writer in for item in page.items { MessageResource(item).write(to: &writer) } }
            }
        }
    }

    /// The caller, counted; every answer says what is left of his minute.
    private func counted(_ request: Request, _ body: (Caller) async throws -> Response) async throws -> Response {
        let caller: Caller
        do { caller = try await identity.authenticate(request.headers[.authorization], now: Date()) } catch { throw GatewayError(error) }
        let rate = try await counter.take(caller).rate
        do {
            var response = try await body(caller)
            rate.write(to: &response.headers)
            return response
        } catch {
            guard var known = GatewayError(known: error) else { throw error }
            known.rate = rate
            throw known
        }
    }

    private func id(_ context: GatewayContext) throws(GatewayError) -> ConversationID {
        guard let id = context.parameters.get("id").flatMap({ ConversationID(validating: $0) }) else { throw .notFound }
        return id
    }

    private func one(_ context: GatewayContext, _ record: ConversationRecord, status: HTTPResponse.Status = .ok) -> Response {
        .envelope(context, status: status) { ConversationResource(record).write(to: &$0) }
    }
}

extension Request {
    /// `?limit=` 1–100, default 20; `?cursor=`; `?updated_since=` the `next_updated_since` of an earlier answer.
    fileprivate func page() throws(GatewayError) -> PageRequest {
        let query = uri.queryParameters
        var page = PageRequest(limit: 20)
        if let text = query["limit"] {
            guard let limit = Int(text), (1...100).contains(limit) else {
                throw GatewayError(.invalidInput, "limit must be a number from 1 to 100").naming(field: "limit")
            }
            page.limit = limit
        }
        page.cursor = query["cursor"].map(String.init)
        page.updatedSince = query["updated_since"].map(String.init)
        if page.updatedSince != nil, page.cursor != nil {
            throw GatewayError(.invalidInput, "cursor and updated_since exclude each other").naming(field: "cursor")
        }
        return page
    }
}

extension Pagination {
    fileprivate init<Element>(_ page: Page<Element>) {
        self.init(
            nextCursor: page.nextCursor, hasNext: page.nextCursor != nil || page.changes?.hasMore == true,
            nextUpdatedSince: page.changes?.next, reset: page.changes?.isReset == true)
    }
}

extension JSONReader {
    /// `allowingNothing`: an empty body is an empty object.
    fileprivate init(body bytes: [UInt8], allowingNothing: Bool) throws(JSONFinding) {
        try self.init(requestBody: bytes.isEmpty && allowingNothing ? Array("{}".utf8) : bytes)
    }

    fileprivate func title() throws(JSONFinding) -> String? { try optional("title", .text(0...ConversationRoutes.titleLimit)) }

    fileprivate func domain() throws -> Domain? {
        guard let text = try optional("domain", .text(0...64)) else { return nil }
        guard let domain = Domain(rawValue: text) else {
            throw GatewayError(.personaOrDomainUnavailable, "there is no such domain").naming(field: "domain")
        }
        return domain
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
