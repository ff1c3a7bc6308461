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
            messages: { caller, last, limit in
                let messages: Query = """
                    select m.conversation_id, \(MessageRecord.columns) from public.messages m
                    join public.conversations c on c.user_id = m.user_id and c.id = m.conversation_id
                    left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id where m.user_id = \(caller.userID)
                    """
                return try await client.userRows(.page(messages, by: "m.id", after: last, limit), for: caller) { row in
                    ExportedMessage(conversationID: ConversationID(try row.value(0)), message: try MessageRecord(row: row, at: 1))
                }
            },
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
                    ExportedRedemption(personaID: PersonaID(try row.value(0)), redeemedAt: Date(microseconds: try row.value(1)))
                }
            },
            personas: { caller, last, limit in
                let personas: Query = "select \(PersonaRecord.columns) from public.coaching_personas where user_id = \(caller.userID)"
                return try await client.userRows(.page(personas, by: "id", after: last, limit), for: caller) { try PersonaRecord(row: $0) }
            })
    }
}

extension Query {
    /// The rows after a key, in its order. `rows` ends with a condition.
    fileprivate static func page(_ rows: Query, by key: Query, after last: (some QueryValue)?, _ limit: Int) -> Query {
        var page = rows
        if let last { page.append(" and \(key) > \(last)") }
        page.append(" order by \(key) limit \(limit)")
        return page
    }
}

extension Report {
    fileprivate init(row: borrowing Row) throws {
        let subject: Report.Subject
        if let persona = try row.value(1, as: UUID?.self) {
            subject = .persona(PersonaID(persona))
        } else {
            subject = .answer(MessageID(try row.value(2)))
        }
        self.init(
            id: ReportID(try row.value(0)), subject: subject, reason: try .stored(try row.value(3)), comment: try row.value(4))
    }
}
