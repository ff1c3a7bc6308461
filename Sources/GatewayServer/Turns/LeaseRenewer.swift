import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Renews this instance's lease: four times a second while turns run, else once. A small statement of its own, so that neither a large checkpoint
/// nor one that the database refuses makes other instances take this one for dead.
public struct LeaseRenewer: Service {
    let recovery: TurnRecovery
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration
    /// Without running turns the lease is renewed this many intervals apart.
    let idleIntervals: Int

    /// `interval`: also how late a stop that was asked for elsewhere arrives here when its notification was lost.
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
