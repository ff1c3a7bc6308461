import CoachCore
import Logging
import ServiceLifecycle

/// A `Service` that repeats work on this instance until the process shuts down. For work that must survive the process use the job queue
/// (`JobRunner`).
public struct PeriodicJob: Service, CustomStringConvertible {
    /// The name, which a service group shows.
    public let description: String
    private let loop: PeriodicLoop
    private let work: @Sendable () async throws -> Void

    /// The parameters are those of `PeriodicLoop`.
    public init(
        _ name: String, _ schedule: PeriodicSchedule, logger: Logger, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }, work: @escaping @Sendable () async throws -> Void
    ) {
        description = name
        loop = PeriodicLoop(name, schedule, logger: logger, clock: clock, random: random)
        self.work = work
    }

    /// Runs until cancelled or shut down gracefully; both also cancel `work` if it is running.
    public func run() async throws {
        try await cancelWhenGracefulShutdown { try await loop.run(work) }
    }
}
