import CoachCore
import Synchronization

/// The safety levels of users in danger whose turns this instance has begun lately. The database has them, too: this is for the refusals while it is
/// away, which carry the resources for such users all the same (CONTRACT §4).
public final class RecentDanger: Sendable {
    /// After that a stored level is calm (`gateway.level_at`).
    private static let lifetime = Duration.seconds(48 * 3600)
    private static let mostUsers = 10_000

    private struct Danger {
        var level: SafetyLevel
        var region: Region
        var notedAt: ContinuousClock.Instant
    }

    private let users = Mutex<[UserID: Danger]>([:])

    public init() {}

    /// Notes the level after a message. A higher one that was noted before stays, because it may be that of another persona's conversations. When there
    /// are too many users, the one noted longest ago is forgotten.
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

    /// Forgets removed users, and levels that are calm by now. `removed`: those of some users who were removed.
    public func forget(removed: ([UserID]) async throws -> [UserID], at now: ContinuousClock.Instant = .now) async throws {
        let known = users.withLock { users in
            users = users.filter { $0.value.notedAt + Self.lifetime > now }
            return Array(users.keys)
        }
        guard !known.isEmpty else { return }
        let removed = try await removed(known)
        users.withLock { users in for user in removed { users[user] = nil } }
    }

    /// `calm` when nothing is known.
    public func state(of user: UserID, at now: ContinuousClock.Instant = .now) -> (level: SafetyLevel, region: Region) {
        guard let danger = users.withLock({ $0[user] }), danger.notedAt + Self.lifetime > now else { return (.calm, .unknown) }
        return (danger.level, danger.region)
    }
}
