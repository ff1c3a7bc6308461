/// Port to the removal of users with all their data, in parts. `AccountRepository.confirmRemoval` enqueues the job that runs it. `CoachStore`
/// implements it on PostgreSQL. Closures throw `StoreFault`.
public struct UserRemoval: Sendable {
    /// The state of the removal after a part. Raw values are those of `gateway.delete_user`.
    public enum Progress: String, Sendable {
        /// The user's turns were asked to stop, and some of them, or calls for summaries, still run. No turn is removed before they have ended.
        case stopping
        /// Rows are left.
        case removing
        /// No rows are left.
        case removed
    }

    /// Returns those of the users whose removal has begun.
    public var removed: @Sendable (_ users: [UserID]) async throws -> [UserID]
    /// Removes a part of the user's rows in one transaction.
    public var removePart: @Sendable (UserID) async throws -> Progress

    public init(
        removed: @escaping @Sendable (_ users: [UserID]) async throws -> [UserID],
        removePart: @escaping @Sendable (UserID) async throws -> Progress
    ) {
        self.removed = removed
        self.removePart = removePart
    }
}

extension JobKind {
    /// Runs `UserRemoval` for the job's user.
    public static let deleteUser = JobKind(rawValue: "delete_user")
}
