import CoachCore
import Foundation
import PostgresClient

/// A user's conversations and their messages. Everything runs as role `authenticated` with the caller's claims: what row-level security does
/// not show him does not exist for him either, here as behind PostgREST.
///
/// Methods throw `StoreFault`, `Rejection` where they say so, and `InvalidCursor`. Limits are 1…100, checked by the caller.
public struct ConversationStore: Sendable {
    private let client: PostgresClient

    public init(client: PostgresClient) {
        self.client = client
    }

    /// Conversations, the most recently active first. With `updatedSince`, those changed after it, deleted ones included, in the order of their
    /// changes. Throws also `InvalidChangeToken`.
    public func list(
        _ caller: Caller, limit: Int, cursor: String? = nil, updatedSince: String? = nil
    ) async throws -> Page<ConversationRecord> {
        if let updatedSince, let changes = try await conversations(caller, changedAfter: try ChangeToken(text: updatedSince), limit: limit)
        {
            return changes
        }
        var page: Query = "select * from public.conversations where user_id = \(caller.userID) and deleted_at is null"
        if let cursor = try Self.parse(cursor) {
            // The years 1970 to 9999.
            guard (0..<253_402_300_800_000_000).contains(cursor.key) else { throw InvalidCursor() }
            page.append(" and (last_message_at, id) < (\(Self.timestamp(microseconds: cursor.key)), \(cursor.id))")
        }
        page.append(" order by last_message_at desc, id desc limit \(limit + 1)")
        let query: Query = """
            select \(ChangeCounter.columns), \(ConversationRecord.columns) from (\(ChangeCounter.query(for: caller))) counter
            left join lateral (\(page)) c on true order by c.last_message_at desc, c.id desc
            """
        let found = try await rows(query, for: caller) {
            try Counted<ConversationRecord>(row: $0) { try ConversationRecord(row: $0, at: $1) }
        }
        return Page(found.compactMap(\.record), limit: limit) { PageCursor(key: $0.lastMessageAt.microseconds, id: $0.id.uuid) }
            .with(cursor == nil ? found.first?.counter.start : nil, isReset: updatedSince != nil)
    }

    /// Nil: the token means nothing any more.
    private func conversations(
        _ caller: Caller, changedAfter token: ChangeToken, limit: Int
    ) async throws -> Page<ConversationRecord>? {
        let query: Query = """
            select \(ChangeCounter.columns), c.change, \(ConversationRecord.columns) from (\(ChangeCounter.query(for: caller))) counter
            left join lateral (
                select * from public.conversations
                where user_id = \(caller.userID) and (change, id) > (\(token.number), \(token.lastRow)) order by change, id limit \(limit + 1)
            ) c on true order by c.change, c.id
            """
        let found = try await rows(query, for: caller) {
            try Counted<Changed<ConversationRecord>>(row: $0) { row, column in
                Changed(number: try row.value(column), record: try ConversationRecord(row: row, at: column + 1))
            }
        }
        return Page(changes: found, after: token, limit: limit) { $0.id.uuid }
    }

    /// One conversation. Throws `Rejection` `notFound` when it is somebody else's, deleted, or nobody's.
    public func get(_ caller: Caller, _ id: ConversationID) async throws -> ConversationRecord {
        let query: Query = """
            select \(ConversationRecord.columns) from public.conversations
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        return try await one(query, for: caller)
    }

    /// A new, empty conversation. The caller's row exists already: `RequestStore.take` came first. Throws `Rejection` `unknownPersona`,
    /// and `quotaExhausted` when the caller has too many empty conversations.
    public func create(_ caller: Caller, title: String?, domain: Domain?, personaID: PersonaID?) async throws -> ConversationRecord {
        let query: Query = """
            insert into public.conversations (user_id, title, domain, persona_id)
            values (\(caller.userID), \(title), \(domain), \(personaID)) returning \(ConversationRecord.columns)
            """
        do {
            return try await one(query, for: caller)
        } catch let error as PostgresError where error.sqlState == Self.insufficientPrivilege && personaID != nil {
            // The policy lets a conversation begin with a persona that its owner may see.
            throw Rejection(reason: .unknownPersona)
        } catch let error as PostgresError where error.constraint == "conversations_quota" {
            throw Rejection(reason: .quotaExhausted)
        }
    }

    /// Renames a conversation or moves it to another domain. Throws `Rejection` `notFound`.
    public func patch(_ caller: Caller, _ id: ConversationID, _ patch: ConversationPatch) async throws -> ConversationRecord {
        var changes: [Query] = []
        if let title = patch.title { changes.append("title = \(title)") }
        if let domain = patch.domain { changes.append("domain = \(domain)") }
        guard var query = changes.first else { return try await get(caller, id) }
        for change in changes.dropFirst() { query.append(", \(change)") }
        return try await one(
            """
            update public.conversations set \(query)
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null returning \(ConversationRecord.columns)
            """, for: caller)
    }

    /// Puts a conversation away; its rows stay, so that what was spent stays explained. Returns the turn that still runs in it, to be stopped.
    /// Throws `Rejection` `notFound`, also the second time.
    public func delete(_ caller: Caller, _ id: ConversationID) async throws -> TurnID? {
        let update: Query = """
            update public.conversations set deleted_at = now()
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        // A statement of its own: it sees a turn for whose beginning the update has waited. now() is the transaction's. Only the latest message of
        // a conversation can have a running turn.
        let query: Query = """
            select (
                select t.id from public.messages m
                join public.turns t on t.user_id = m.user_id and t.id = m.turn_id and t.status = 'running'
                where m.user_id = c.user_id and m.conversation_id = c.id and m.seq = c.last_seq - 1)
            from public.conversations c
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at = now()
            """
        let found = try await rows(update, query, for: caller) { try $0.value(0, as: UUID?.self) }
        guard let running = found.first else { throw Rejection(reason: .notFound) }
        return running.map { TurnID($0) }
    }

    /// In which order messages are listed.
    public enum Order: Sendable {
        case oldestFirst, newestFirst
    }

    /// The messages of a conversation; with `updatedSince`, those changed after it in the order of their changes. Throws `Rejection` `notFound` as
    /// `get`, and `InvalidChangeToken`.
    public func messages(
        _ caller: Caller, _ id: ConversationID, limit: Int, cursor: String? = nil, order: Order = .oldestFirst, updatedSince: String? = nil
    ) async throws -> Page<MessageRecord> {
        if let updatedSince, let changes = try await messages(caller, id, changedAfter: try ChangeToken(text: updatedSince), limit: limit) {
            return changes
        }
        let sequence: Query = order == .oldestFirst ? "m.seq, m.id" : "m.seq desc, m.id desc"
        var page: Query = "select * from public.messages m where m.user_id = c.user_id and m.conversation_id = c.id"
        if let cursor = try Self.parse(cursor) {
            let isBeyond: Query = order == .oldestFirst ? ">" : "<"
            guard Int32(exactly: cursor.key) != nil else { throw InvalidCursor() }
            page.append(" and (m.seq, m.id) \(isBeyond) (\(cursor.key)::integer, \(cursor.id))")
        }
        page.append(" order by \(sequence) limit \(limit + 1)")
        // Joined from the conversation's side: a conversation without messages is one row of NULLs, none at all is no row.
        let query: Query = """
            select \(ChangeCounter.columns), \(MessageRecord.columns) from (\(ChangeCounter.query(for: caller))) counter
            cross join public.conversations c
            left join lateral (\(page)) m on true
            left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at is null
            order by \(sequence)
            """
        let found = try await rows(query, for: caller) { try Counted<MessageRecord>(row: $0) { try MessageRecord(row: $0, at: $1) } }
        guard let counter = found.first?.counter else { throw Rejection(reason: .notFound) }
        return Page(found.compactMap(\.record), limit: limit) { PageCursor(key: Int64($0.position), id: $0.id.uuid) }
            .with(cursor == nil ? counter.start : nil, isReset: updatedSince != nil)
    }

    /// Nil: the token means nothing any more. A message changes with the domain of its turn, which it is shown with.
    private func messages(
        _ caller: Caller, _ id: ConversationID, changedAfter token: ChangeToken, limit: Int
    ) async throws -> Page<MessageRecord>? {
        let change: Query = "greatest(m.change, t.change)"
        let query: Query = """
            select \(ChangeCounter.columns), \(change), \(MessageRecord.columns) from (\(ChangeCounter.query(for: caller))) counter
            cross join public.conversations c
            left join (public.messages m left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id)
                on m.user_id = c.user_id and m.conversation_id = c.id and (\(change), m.id) > (\(token.number), \(token.lastRow))
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at is null
            order by \(change), m.id limit \(limit + 1)
            """
        let found = try await rows(query, for: caller) {
            try Counted<Changed<MessageRecord>>(row: $0) { row, column in
                Changed(number: try row.value(column), record: try MessageRecord(row: row, at: column + 1))
            }
        }
        guard !found.isEmpty else { throw Rejection(reason: .notFound) }
        return Page(changes: found, after: token, limit: limit) { $0.id.uuid }
    }

    private static let insufficientPrivilege = "42501"
    private static let checkViolation = "23514"

    private func one(_ query: Query, for caller: Caller) async throws -> ConversationRecord {
        guard let record = try await rows(query, for: caller, decode: { try ConversationRecord(row: $0, at: 0) }).first else {
            throw Rejection(reason: .notFound)
        }
        return record
    }

    /// The rows of the last query.
    private func rows<Record: Sendable>(
        _ queries: Query..., for caller: Caller, decode: @escaping @Sendable (borrowing Row) throws -> Record
    ) async throws -> [Record] {
        try await StoreFault.translating(except: [Self.insufficientPrivilege, Self.checkViolation]) {
            try await client.batch([Claims.user(caller)] + queries, affinity: caller.userID.affinity) { rows in try rows.map(decode) }
        }
    }

    private static func parse(_ cursor: String?) throws -> PageCursor? {
        guard let cursor else { return nil }
        guard let parsed = PageCursor(text: cursor) else { throw InvalidCursor() }
        return parsed
    }

    private static func timestamp(microseconds: Int64) -> Query {
        "timestamptz 'epoch' + \(microseconds)::bigint * interval '1 microsecond'"
    }
}
