import CoachCore
import Logging
import ServiceLifecycle

/// Work that an instance repeats for as long as it lives.
public struct PeriodicJob: Service, CustomStringConvertible {
    /// What a service group calls it.
    public let description: String
    private let loop: PeriodicLoop
    private let work: @Sendable () async throws -> Void

    /// As `PeriodicLoop`.
    public init(
        _ name: String, _ schedule: PeriodicSchedule, logger: Logger, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }, work: @escaping @Sendable () async throws -> Void
    ) {
        description = name
        loop = PeriodicLoop(name, schedule, logger: logger, clock: clock, random: random)
        self.work = work
    }

    /// Until cancelled or shut down gracefully, which both cancel a run that is under way.
    public func run() async throws {
        try await cancelWhenGracefulShutdown { try await loop.run(work) }
    }
}
