import CoachCore
import Foundation
import PostgresClient

extension ConversationRecord {
    static let columns: Query = """
        id, title, domain, persona_id, (extract(epoch from last_message_at) * 1000000)::bigint, \
        (extract(epoch from created_at) * 1000000)::bigint, (extract(epoch from updated_at) * 1000000)::bigint, \
        (extract(epoch from deleted_at) * 1000000)::bigint, change, ephemeral, source
        """
    /// The number of `columns`.
    static let width = 11

    init(row: borrowing Row, at first: Int) throws {
        self.init(
            id: try row.value(first), title: try row.value(first + 1),
            domain: try row.value(first + 2, as: String?.self).map { try .stored($0) },
            personaID: try row.value(first + 3),
            lastMessageAt: Date(microseconds: try row.value(first + 4)),
            createdAt: Date(microseconds: try row.value(first + 5)), updatedAt: Date(microseconds: try row.value(first + 6)),
            deletedAt: try row.date(first + 7), version: try row.value(first + 8),
            isEphemeral: try row.value(first + 9), source: try .stored(try row.value(first + 10)))
    }
}

extension MessageRecord {
    static let columns: Query = """
        m.id, m.conversation_id, m.role, m.content, m.status, coalesce(m.domain, t.domain), \
        (extract(epoch from m.created_at) * 1000000)::bigint, (extract(epoch from m.updated_at) * 1000000)::bigint, m.turn_id, m.seq
        """
    /// The number of `columns`.
    static let width = 10

    init(row: borrowing Row, at first: Int) throws {
        self.init(
            id: try row.value(first), conversationID: try row.value(first + 1), role: try .stored(try row.value(first + 2)),
            content: try row.value(first + 3), status: try .stored(try row.value(first + 4)),
            domain: try row.value(first + 5, as: String?.self).map { try .stored($0) },
            createdAt: Date(microseconds: try row.value(first + 6)), updatedAt: Date(microseconds: try row.value(first + 7)),
            turnID: try row.value(first + 8), position: try row.value(first + 9))
    }
}

extension ConversationMessage {
    /// From the conversation's source, then `MessageRecord.columns`.
    init(row: borrowing Row) throws {
        self.init(source: try .stored(try row.value(0)), message: try MessageRecord(row: row, at: 1))
    }
}

extension Row {
    /// The value of a column that was selected in microseconds since 1970; nil for NULL.
    borrowing func date(_ column: Int) throws -> Date? { try value(column, as: Int64?.self).map { Date(microseconds: $0) } }
}

extension Date {
    /// From PostgreSQL's resolution. A `Date` of this century represents each microsecond exactly when rounded.
    init(microseconds: Int64) {
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }

    var microseconds: Int64 { Int64((timeIntervalSince1970 * 1_000_000).rounded()) }
}
