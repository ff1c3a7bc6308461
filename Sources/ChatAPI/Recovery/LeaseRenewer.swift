import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Renews this instance's lease four times a second while turns run, else once. A separate small statement, so that neither a large nor a rejected
/// checkpoint lets the lease expire.
public struct LeaseRenewer: Service {
    let recovery: TurnRecovery
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration
    /// Without running turns the lease is renewed this many intervals apart.
    let idleIntervals: Int

    /// `interval`: also the delay of a stop from another instance when its notification was lost.
    public init(
        recovery: TurnRecovery, registry: TurnRegistry, logger: Logger, interval: Duration = .milliseconds(250), idleIntervals: Int = 4
    ) {
        self.recovery = recovery
        self.registry = registry
        self.logger = logger
        self.interval = interval
        self.idleIntervals = idleIntervals
    }

    /// Until cancelled: leases must hold while turns end, so a graceful shutdown alone does not stop it. Throws `LeaseLost`, which must end
    /// the process.
    public func run() async throws {
        let loop = PeriodicLoop("lease renewal", PeriodicSchedule(every: interval), logger: logger, isFatal: { $0 is LeaseLost })
        var idle = idleIntervals
        try await loop.run {
            idle += 1
            guard registry.count > 0 || idle >= idleIntervals else { return }
            for id in try await recovery.renewLease() { registry.turn(id)?.stop() }
            idle = 0
        }
    }
}
