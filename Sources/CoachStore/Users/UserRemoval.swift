import CoachCore
import PostgresClient

/// Removes users with all their data, in parts. `gateway.request_removal` enqueues the job that runs it.
public struct UserRemoval: Sendable {
    /// The state of the removal after a part.
    public enum Progress: String, Sendable {
        /// The user's turns were asked to stop, and some still run. Nothing is removed before they have ended.
        case stopping
        /// Rows are left.
        case removing
        /// No rows are left.
        case removed
    }

    private let client: PostgresClient

    public init(client: PostgresClient) { self.client = client }

    /// Those of the users whose removal was begun. Throws `StoreFault`.
    public func removed(among users: [UserID]) async throws -> [UserID] {
        try await StoreFault.translating {
            try await client.query("select * from gateway.removed_among(\(users.map(\.uuid)))") { rows in
                try rows.map { row in UserID(try row.value(0)) }
            }
        }
    }

    /// Removes at most a thousand rows in one transaction; small, because others wait behind a statement on its connection. Throws
    /// `StoreFault`.
    public func removePart(of userID: UserID) async throws -> Progress {
        let outcome: String = try await client.call("gateway.delete_user(\(userID), 1000) ->> 'outcome'", boundTo: userID)
        guard let progress = Progress(rawValue: outcome) else { throw StoreFault.unexpected("delete_user has no outcome \(outcome)") }
        return progress
    }
}

extension JobKind {
    /// Runs `UserRemoval` for the job's user.
    public static let deleteUser = JobKind(rawValue: "delete_user")
}
