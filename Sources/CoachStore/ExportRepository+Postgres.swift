import CoachCore
import PostgresClient

extension ExportRepository {
    /// Exports from PostgreSQL, in pages by primary key. Each page is a separate statement, so the export is not one snapshot.
    public static func postgres(client: PostgresClient) -> ExportRepository {
        ExportRepository(
            conversations: { caller, last, limit in
                var page: Query = "select \(ConversationRecord.columns) from public.conversations where user_id = \(caller.userID)"
                if let last { page.append(" and id > \(last)") }
                page.append(" order by id limit \(limit)")
                return try await client.userRows(page, for: caller) { try ConversationRecord(row: $0, at: 0) }
            },
            messages: { caller, last, limit in
                var page: Query = """
                    select m.conversation_id, \(MessageRecord.columns) from public.messages m
                    left join public.turns t on t.user_id = m.user_id and t.id = m.turn_id where m.user_id = \(caller.userID)
                    """
                if let last { page.append(" and m.id > \(last)") }
                page.append(" order by m.id limit \(limit)")
                return try await client.userRows(page, for: caller) { row in
                    ExportedMessage(conversationID: ConversationID(try row.value(0)), message: try MessageRecord(row: row, at: 1))
                }
            })
    }
}
