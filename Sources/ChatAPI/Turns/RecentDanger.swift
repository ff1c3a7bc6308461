import CoachCore
import Synchronization

/// The safety levels of users in danger whose turns this instance has begun lately. They are for errors while the database, which has them too, is
/// away: these errors must have crisis resources for such users (CONTRACT §4).
public final class RecentDanger: Sendable {
    /// After this time a stored level is calm (`gateway.level_at`).
    private static let lifetime = Duration.seconds(48 * 3600)
    private static let mostUsers = 10_000

    private struct Danger {
        var level: SafetyLevel
        var region: Region
        var notedAt: ContinuousClock.Instant
    }

    private let users = Mutex<[UserID: Danger]>([:])

    public init() {}

    /// Notes the level after a message. Keeps a higher level that was noted before, because it may belong to another persona. When there are too many users,
    /// forgets the one noted longest ago.
    func note(_ user: UserID, _ level: SafetyLevel, in region: Region, at now: ContinuousClock.Instant = .now) {
        guard level > .calm else { return }
        users.withLock { users in
            let former = users[user].flatMap { $0.notedAt + Self.lifetime > now ? $0.level : nil } ?? .calm
            if users.count >= Self.mostUsers, users[user] == nil, let first = users.min(by: { $0.value.notedAt < $1.value.notedAt }) {
                users[first.key] = nil
            }
            users[user] = Danger(level: max(level, former), region: region, notedAt: now)
        }
    }

    /// Forgets removed users, and levels that are calm by now. `removed` returns which of the given users were removed.
    public func forget(removed: ([UserID]) async throws -> [UserID], at now: ContinuousClock.Instant = .now) async throws {
        let known = users.withLock { users in
            users = users.filter { $0.value.notedAt + Self.lifetime > now }
            return Array(users.keys)
        }
        guard !known.isEmpty else { return }
        let removed = try await removed(known)
        users.withLock { users in for user in removed { users[user] = nil } }
    }

    /// The user's level and region; `calm` and `unknown` when nothing is known.
    public func state(of user: UserID, at now: ContinuousClock.Instant = .now) -> (level: SafetyLevel, region: Region) {
        guard let danger = users.withLock({ $0[user] }), danger.notedAt + Self.lifetime > now else { return (.calm, .unknown) }
        return (danger.level, danger.region)
    }
}
