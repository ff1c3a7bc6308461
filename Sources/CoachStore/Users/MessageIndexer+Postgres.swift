import CoachCore
import PostgresClient

extension MessageIndexer {
    /// Messages of a part, which is one transaction: a search of the user may wait for it.
    private static let messagesAtOnce = 250
    /// Text of a part in bytes: 200 messages of usual length. A byte takes at most 3 µs, where a text has no spaces (`gateway.searchable_text`). A search
    /// indexes two parts, and a statement may take 2 s, also on a busy machine.
    static let bytesAtOnce = 150_000

    /// The index in PostgreSQL.
    public static func postgres(client: PostgresClient) -> MessageIndexer {
        MessageIndexer { userID in
            try await client.call(
                "gateway.index_messages_3(\(userID), \(messagesAtOnce)::integer, \(bytesAtOnce)::integer, 0)", boundTo: userID)
        }
    }
}
