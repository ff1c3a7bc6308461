import CoachCore
import Synchronization

/// Callers who were rejected, until that ends. Their requests are counted before their handler runs, so that a client which goes on costs no
/// more than the count.
final class RejectedCallers: Sendable {
    /// So many that a flood cannot fill the memory. Beyond it all are forgotten, which costs each of them one handler.
    private static let capacity = 10_000

    private let rejectedUntil = Mutex<[UserID: ContinuousClock.Instant]>([:])

    func contains(_ user: UserID, now: ContinuousClock.Instant = .now) -> Bool {
        rejectedUntil.withLock { users in
            guard let end = users[user] else { return false }
            if end <= now { users[user] = nil }
            return end > now
        }
    }

    /// - Parameter seconds: until the caller's next window.
    func insert(_ user: UserID, seconds: Int, now: ContinuousClock.Instant = .now) {
        rejectedUntil.withLock { users in
            if users.count >= Self.capacity { users = [:] }
            users[user] = now + .seconds(seconds)
        }
    }
}
