import CoachCore
import PostgresClient

/// Removes users with everything of theirs. `gateway.request_removal` enqueues the job that does it.
public struct UserRemoval: Sendable {
    /// What is left of the user after a part.
    public enum Progress: String, Sendable {
        /// Turns still run. They were requested to stop; nothing is removed before.
        case stopping
        /// Rows.
        case removing
        /// Nothing.
        case removed
    }

    private let client: PostgresClient

    public init(client: PostgresClient) { self.client = client }

    /// Removes at most a thousand rows, in a transaction of its own: others wait behind a statement on its connection. Throws `StoreFault`.
    public func removePart(of userID: UserID) async throws -> Progress {
        let query = Claims.gateway(for: userID, calling: "gateway.delete_user(\(userID), 1000) ->> 'outcome'")
        let outcome: String = try await StoreFault.translating {
            try await repeatingContended {
                try await client.query(query, affinity: userID.affinity) { rows in try rows.only { row in try row.value(0) } }
            }
        }
        guard let progress = Progress(rawValue: outcome) else { throw StoreFault.unexpected("delete_user has no outcome \(outcome)") }
        return progress
    }
}

extension JobKind {
    /// Removes the job's user; see `gateway.request_removal`.
    public static let deleteUser = JobKind(rawValue: "delete_user")
}
