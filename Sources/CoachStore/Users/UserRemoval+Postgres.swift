import CoachCore
import PostgresClient

extension UserRemoval {
    /// Rows that a part removes at most: few, because others wait behind a statement on its connection.
    private static let rowsAtOnce = 1_000

    /// The removal in PostgreSQL.
    public static func postgres(client: PostgresClient) -> UserRemoval {
        UserRemoval(
            removed: { users in
                try await StoreFault.translating {
                    try await client.query("select * from gateway.removed_among(\(users))") { rows in
                        try rows.map { row in try row.value(0, as: UserID.self) }
                    }
                }
            },
            removePart: { userID in
                let outcome: String = try await client.call(
                    "gateway.delete_user(\(userID), \(rowsAtOnce)::integer) ->> 'outcome'", boundTo: userID)
                guard let progress = Progress(rawValue: outcome) else {
                    throw StoreFault.unexpected("delete_user has no outcome \(outcome)")
                }
                return progress
            })
    }
}
