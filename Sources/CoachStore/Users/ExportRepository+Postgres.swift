import CoachCore
import Foundation
import PostgresClient

extension ExportRepository {
    /// Exports from PostgreSQL, in pages by primary key. Each page is a separate statement, so the export is not one snapshot.
    public static func postgres(client: PostgresClient) -> ExportRepository {
        ExportRepository(
            conversations: { caller, last, limit in
                let page = Query.page(
                    "select \(ConversationRecord.columns) from public.conversations where user_id = \(caller.userID)", by: "id",
                    after: last,
                    limit)
                return try await client.userRows(page, for: caller) { try ConversationRecord(row: $0, at: 0) }
            },
            messages: { caller, last, limit in try await client.exportedMessages(of: caller, after: last, limit) },
            consents: { caller, last, limit in
                let consents: Query = """
                    select sequence::bigint, \(ConsentRecord.columns) from public.consents where user_id = \(caller.userID)
                    """
                return try await client.userRows(.page(consents, by: "sequence", after: last, limit), for: caller) { row in
                    ExportedConsent(sequence: try row.value(0), decision: try ConsentRecord(row: row, at: 1))
                }
            },
            reports: { caller, last, limit in
                let reports: Query = """
                    select id, persona_id, message_id, reason::text, comment from public.reports where user_id = \(caller.userID)
                    """
                return try await client.userRows(.page(reports, by: "id", after: last, limit), for: caller) { try Report(row: $0) }
            },
            redemptions: { caller, last, limit in
                let redemptions: Query = """
                    select persona_id, (extract(epoch from redeemed_at) * 1000000)::bigint from public.persona_redemptions
                    where user_id = \(caller.userID)
                    """
                return try await client.userRows(.page(redemptions, by: "persona_id", after: last, limit), for: caller) { row in
                    ExportedRedemption(personaID: try row.value(0), redeemedAt: Date(microseconds: try row.value(1)))
                }
            },
            personas: { caller, last, limit in
                let personas: Query = """
                    select \(PersonaRecord.columns) from public.coaching_personas where user_id = \(caller.userID) and deleted_at is null
                    """
                return try await client.userRows(.page(personas, by: "id", after: last, limit), for: caller) { try PersonaRecord(row: $0) }
            },
            modelCalls: { caller, last, limit in try await client.exportedCalls(of: caller, after: last, limit) },
            rows: { caller, list, last, limit in try await client.exportedRows(of: caller, list, after: last, limit) },
            avatar: { caller, last in try await client.exportedAvatar(of: caller, after: last) },
            isUserActive: { caller in
                let row: Query = "select 1 from public.users where id = \(caller.userID) and suspended_at is null"
                return try await !client.userRows(row, for: caller) { try $0.value(0, as: Int.self) }.isEmpty
            })
    }
}

extension PostgresClient {
    fileprivate func exportedMessages(of caller: Caller, after last: MessageID?, _ limit: Int) async throws -> [ConversationMessage] {
        // With limits, because they are otherwise joined from the conversations on, and a user's messages sorted again for every page.
        let messages: Query = """
            select c.source, \(MessageRecord.columns) from public.messages m
            cross join lateral (
                select c.source from public.conversations c where c.user_id = m.user_id and c.id = m.conversation_id limit 1) c
            left join lateral (
                select t.domain from public.turns t where t.user_id = m.user_id and t.id = m.turn_id limit 1) t on true
            where m.user_id = \(caller.userID)
            """
        return try await userRows(.page(messages, by: "m.id", after: last, limit), for: caller) { try ConversationMessage(row: $0) }
    }

    fileprivate func exportedRows(
        of caller: Caller, _ list: ExportedList, after last: String?, _ limit: Int
    ) async throws -> [ExportedRow] {
        let page = list.page(of: caller, after: last, limit)
        // As users where they read the rows themselves.
        if list.isReadByUsers { return try await userRows(page, for: caller) { try ExportedRow(row: $0) } }
        return try await gatewayRows(page, for: caller) { try ExportedRow(row: $0) }
    }

    fileprivate func exportedAvatar(of caller: Caller, after last: PersonaID?) async throws -> ExportedAvatar? {
        let avatars: Query = """
            select a.persona_id, a.format, a.content from public.coaching_personas p
            join public.persona_avatars a on a.persona_id = p.id where p.user_id = \(caller.userID)
            """
        return try await gatewayRows(.page(avatars, by: "a.persona_id", after: last, 1), for: caller) { row in
            ExportedAvatar(personaID: try row.value(0), image: try AvatarImage(row: row, at: 1))
        }.first
    }
}

extension ExportedRow {
    init(row: borrowing Row) throws { self.init(key: try row.value(0), json: try .stored(try row.value(1))) }
}

extension Query {
    /// The rows after a key, in its order. `rows` ends with a condition.
    static func page(_ rows: Query, by key: Query, after last: (some QueryValue)?, _ limit: Int) -> Query {
        var page = rows
        if let last { page.append(" and \(key) > \(last)") }
        page.append(" order by \(key) limit \(limit)")
        return page
    }
}

extension Report {
    fileprivate init(row: borrowing Row) throws {
        let subject: Report.Subject
        if let persona = try row.value(1, as: PersonaID?.self) {
            subject = .persona(persona)
        } else {
            subject = .answer(try row.value(2))
        }
        self.init(
            id: try row.value(0), subject: subject, reason: try .stored(try row.value(3)), comment: try row.value(4))
    }
}
