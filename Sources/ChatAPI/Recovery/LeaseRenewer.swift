import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Renews this instance's lease on its turns, four times a second while turns run, otherwise once. When the lease expires, other instances
/// treat the turns as orphans. Separate from the checkpoints, so that a large or rejected checkpoint cannot let the lease expire. Each
/// renewal also returns turns that other instances want to stop.
public struct LeaseRenewer: Service {
    let recovery: TurnRecovery
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration
    /// How many intervals are between renewals without running turns.
    let idleIntervals: Int

    /// - Parameter interval: between renewals; also the longest delay of a stop request from another instance whose notification was lost.
    public init(
        recovery: TurnRecovery, registry: TurnRegistry, logger: Logger, interval: Duration = .milliseconds(250), idleIntervals: Int = 4
    ) {
        self.recovery = recovery
        self.registry = registry
        self.logger = logger
        self.interval = interval
        self.idleIntervals = idleIntervals
    }

    /// Runs until cancelled; a graceful shutdown alone does not end it, because the lease must be valid while turns end. Throws
    /// `LeaseLost`, after which the process must end.
    public func run() async throws {
        let loop = PeriodicLoop("lease renewal", PeriodicSchedule(every: interval), logger: logger, isFatal: { $0 is LeaseLost })
        var idle = idleIntervals
        try await loop.run {
            idle += 1
            guard registry.count > 0 || idle >= idleIntervals else { return }
            for id in try await recovery.renewLease() { registry.stop(id) }
            idle = 0
        }
    }
}
