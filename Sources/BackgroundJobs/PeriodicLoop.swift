import CoachCore
import Logging

/// Repeats work on a schedule until its task is cancelled. A failure does not end the loop; one line is logged when an outage begins and
/// one when it ends.
public struct PeriodicLoop: Sendable {
    private let name: String
    private let schedule: PeriodicSchedule
    private let logger: Logger
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double
    private let isFatal: @Sendable (any Error) -> Bool

    /// - Parameters:
    ///   - name: appears in the log.
    ///   - random: 0 to 1, for the schedule's jitter.
    ///   - isFatal: errors that end the loop: `run` throws them.
    public init(
        _ name: String, _ schedule: PeriodicSchedule, logger: Logger, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }, isFatal: @escaping @Sendable (any Error) -> Bool = { _ in false }
    ) {
        self.name = name
        self.schedule = schedule
        self.logger = logger
        self.clock = clock
        self.random = random
        self.isFatal = isFatal
    }

    /// Runs until the task is cancelled. A graceful shutdown alone does not end it.
    public func run(_ work: () async throws -> Void) async throws {
        do {
            try await repeatWork(clock, work)
        } catch is CancellationError where Task.isCancelled {}
    }

    private func repeatWork<C: Clock>(_ clock: C, _ work: () async throws -> Void) async throws where C.Duration == Duration {
        var schedule = schedule
        try await clock.sleep(for: schedule.firstPause(random: random()))
        while true {
            let start = clock.now
            let failure = try await failure(of: work)
            let (pause, report) = schedule.ended(succeeded: failure == nil, after: start.duration(to: clock.now), random: random())
            switch report {
            case .outageBegan:
                logger.error("a periodic job fails", metadata: ["job": "\(name)", "error": "\(failure.map { "\($0)" } ?? "")"])
            case .outageEnded: logger.notice("a periodic job succeeds again", metadata: ["job": "\(name)"])
            case nil: break
            }
            try await clock.sleep(for: pause)
        }
    }

    /// Runs `work` once and returns its error. Throws errors that end the loop.
    private func failure(of work: () async throws -> Void) async throws -> (any Error)? {
        do {
            try await work()
            return nil
        } catch {
            try Task.checkCancellation()
            if isFatal(error) { throw error }
            return error
        }
    }
}
