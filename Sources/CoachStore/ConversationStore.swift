import CoachCore
import Foundation
import PostgresClient

/// A user's conversations and their messages. Everything runs as role `authenticated` with the caller's claims: what row-level security does
/// not show him does not exist for him either, here as behind PostgREST.
///
/// Methods throw `StoreFault`, `Refusal` where they say so, and `InvalidCursor`. Limits are 1…100, checked by the caller.
public struct ConversationStore: Sendable {
    private let client: PostgresClient

    public init(client: PostgresClient) {
        self.client = client
    }

    /// Conversations, the one spoken in last first. With `updatedSince` those changed at or after that time, deleted ones included.
    public func list(
        _ caller: Caller, limit: Int, cursor: String? = nil, updatedSince: Date? = nil
    ) async throws -> Page<ConversationRecord> {
        var query: Query = "select \(ConversationRecord.columns) from public.conversations where user_id = \(caller.userID)"
        if let updatedSince {
            query.append(" and updated_at >= \(Self.timestamp(updatedSince))")
        } else {
            query.append(" and deleted_at is null")
        }
        if let cursor = try Self.parse(cursor) {
            // The years 1970 to 9999.
            guard (0..<253_402_300_800_000_000).contains(cursor.key) else { throw InvalidCursor() }
            query.append(" and (last_message_at, id) < (\(Self.timestamp(microseconds: cursor.key)), \(cursor.id))")
        }
        query.append(" order by last_message_at desc, id desc limit \(limit + 1)")
        let found = try await rows(query, for: caller) { try ConversationRecord(row: $0) }
        return Page(found, limit: limit) { PageCursor(key: $0.lastMessageAt.microseconds, id: $0.id.uuid) }
    }

    /// One conversation. Throws `Refusal` `notFound` when it is somebody else's, deleted, or nobody's.
    public func get(_ caller: Caller, _ id: ConversationID) async throws -> ConversationRecord {
        let query: Query = """
            select \(ConversationRecord.columns) from public.conversations
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        return try await one(query, for: caller)
    }

    /// A new, empty conversation. The caller's row exists already: `RequestStore.take` came first. Throws `Refusal` `unknownPersona`,
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
            throw Refusal(reason: .unknownPersona)
        } catch let error as PostgresError where error.constraint == "conversations_quota" {
            throw Refusal(reason: .quotaExhausted)
        }
    }

    /// Renames a conversation or moves it to another domain. Throws `Refusal` `notFound`.
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
    /// Throws `Refusal` `notFound`, also the second time.
    public func delete(_ caller: Caller, _ id: ConversationID) async throws -> TurnID? {
        let update: Query = """
            update public.conversations set deleted_at = now()
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        // A statement of its own: it sees a turn for whose beginning the update has waited. now() is the transaction's.
        let query: Query = """
            select (
                select t.id from public.turns t
                where t.user_id = c.user_id and t.conversation_id = c.id and t.status = 'running')
            from public.conversations c
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at = now()
            """
        let found = try await rows(update, query, for: caller) { try $0.value(0, as: UUID?.self) }
        guard let running = found.first else { throw Refusal(reason: .notFound) }
        return running.map { TurnID($0) }
    }

    /// In which order messages are listed.
    public enum Order: Sendable {
        case oldestFirst, newestFirst
    }

    /// The messages of a conversation, with `updatedSince` those changed at or after that time. Throws `Refusal` `notFound` as `get`.
    public func messages(
        _ caller: Caller, _ id: ConversationID, limit: Int, cursor: String? = nil, order: Order = .oldestFirst, updatedSince: Date? = nil
    ) async throws -> Page<MessageRecord> {
        let sequence: Query = order == .oldestFirst ? "m.seq, m.id" : "m.seq desc, m.id desc"
        var page: Query = "select * from public.messages m where m.user_id = c.user_id and m.conversation_id = c.id"
        if let updatedSince { page.append(" and m.updated_at >= \(Self.timestamp(updatedSince))") }
        if let cursor = try Self.parse(cursor) {
            let isBeyond: Query = order == .oldestFirst ? ">" : "<"
            guard Int32(exactly: cursor.key) != nil else { throw InvalidCursor() }
            page.append(" and (m.seq, m.id) \(isBeyond) (\(cursor.key)::integer, \(cursor.id))")
        }
        page.append(" order by \(sequence) limit \(limit + 1)")
        // Joined from the conversation's side: a conversation without messages is one row of NULLs, none at all is no row.
        let query: Query = """
            select \(MessageRecord.columns) from public.conversations c
            left join lateral (\(page)) m on true
            left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id
            where c.user_id = \(caller.userID) and c.id = \(id) and c.deleted_at is null
            order by \(sequence)
            """
        let found = try await rows(query, for: caller) { row in
            try row.value(0, as: UUID?.self) == nil ? nil : try MessageRecord(row: row)
        }
        guard !found.isEmpty else { throw Refusal(reason: .notFound) }
        return Page(found.compactMap { $0 }, limit: limit) { PageCursor(key: Int64($0.position), id: $0.id.uuid) }
    }

    private static let insufficientPrivilege = "42501"
    private static let checkViolation = "23514"

    private func one(_ query: Query, for caller: Caller) async throws -> ConversationRecord {
        guard let record = try await rows(query, for: caller, decode: { try ConversationRecord(row: $0) }).first else {
            throw Refusal(reason: .notFound)
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

    private static func timestamp(_ date: Date) -> Query {
        timestamp(microseconds: date.microseconds)
    }

    private static func timestamp(microseconds: Int64) -> Query {
        "timestamptz 'epoch' + \(microseconds)::bigint * interval '1 microsecond'"
    }
}
