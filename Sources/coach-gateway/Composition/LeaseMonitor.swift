import CoachCore
import Synchronization

/// Knows whether the database takes writes of this instance, by the renewals of its lease, which go on as long as the process runs. Connections do not
/// show it: a standby accepts them, as does a server whose disk is full.
final class LeaseMonitor: Sendable {
    /// How long renewals may fail. Half of the time after which other instances take over the turns (`gateway.lease()`), and more than one slow statement
    /// takes.
    static let patience = Duration.milliseconds(3500)

    private let failingSince = Mutex<ContinuousClock.Instant?>(nil)

    /// False when all renewals of the last `patience` have failed.
    func takesWrites(at now: ContinuousClock.Instant = .now) -> Bool {
        failingSince.withLock { since in since.map { $0.duration(to: now) < Self.patience } ?? true }
    }

    /// The same port, whose renewals are observed.
    func watch(_ recovery: TurnRecovery) -> TurnRecovery {
        var watched = recovery
        watched.renewLease = { [self] in
            do {
                let stops = try await recovery.renewLease()
                failingSince.withLock { $0 = nil }
                return stops
            } catch {
                failingSince.withLock { since in
                    if since == nil { since = .now }
                }
                throw error
            }
        }
        return watched
    }
}
