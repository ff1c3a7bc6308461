import CoachCore
import PostgresClient

extension MessageIndexer {
    /// Messages of a part, which is one transaction: a search of the user may wait for it.
    private static let messagesAtOnce = 250

    /// The index in PostgreSQL.
    public static func postgres(client: PostgresClient) -> MessageIndexer {
        MessageIndexer { userID in
            try await client.call("gateway.index_messages_2(\(userID), \(messagesAtOnce)::integer, 0)", boundTo: userID)
        }
    }
}
