import CoachCore
import PostgresClient

extension RoutedMessages {
    /// Messages in PostgreSQL, through a function that checks the caller's role.
    public static func postgres(client: PostgresClient) -> RoutedMessages {
        RoutedMessages { caller, atMost in
            try await client.operatorQuery(
                "select content, conversation_domain, author from operator.routed_messages_2(\(atMost)::integer)", for: caller
            ) { rows in
                try rows.map { row in
                    RoutedMessage(
                        text: try row.value(0), conversationDomain: try row.value(1, as: String?.self).map { try .stored($0) },
                        author: try row.value(2))
                }
            }
        }
    }
}
