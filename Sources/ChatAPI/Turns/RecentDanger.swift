import CoachCore
import Synchronization

/// The safety levels of users in danger whose turns this instance has begun lately. The database has them, too: this is for the refusals while it is
/// away, which carry the resources for such users all the same (CONTRACT §4).
final class RecentDanger: Sendable {
    /// A stored level decays after that (`gateway.level_at`), which this does not follow.
    private static let lifetime = Duration.seconds(24 * 3600)
    private static let mostUsers = 10_000

    private struct Danger {
        var level: SafetyLevel
        var region: Region
        var notedAt: ContinuousClock.Instant
    }

    private let users = Mutex<[UserID: Danger]>([:])

    /// Notes the level after a message. When there are too many users, later ones are not noted until the first have expired.
    func note(_ user: UserID, _ level: SafetyLevel, in region: Region, at now: ContinuousClock.Instant = .now) {
        guard level > .calm else { return }
        users.withLock { users in
            if users.count >= Self.mostUsers { users = users.filter { $0.value.notedAt + Self.lifetime > now } }
            guard users.count < Self.mostUsers || users[user] != nil else { return }
            users[user] = Danger(level: level, region: region, notedAt: now)
        }
    }

    /// `calm` when nothing is known.
    func state(of user: UserID, at now: ContinuousClock.Instant = .now) -> (level: SafetyLevel, region: Region) {
        guard let danger = users.withLock({ $0[user] }), danger.notedAt + Self.lifetime > now else { return (.calm, .unknown) }
        return (danger.level, danger.region)
    }
}
