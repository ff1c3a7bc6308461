import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

/// Records the messages of a logger.
final class LogRecorder: LogHandler, Sendable {
    private let lines: Mutex<[String]> = Mutex([])
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    var messages: [String] { lines.withLock { $0 } }
    var logger: Logger { Logger(label: "test") { _ in self } }

    func log(event: LogEvent) { lines.withLock { $0.append("\(event.level): \(event.message)") } }
}

@Suite("Periodic jobs")
struct PeriodicJobTests {
    private struct Trouble: Error {}
    private struct Fatal: Error {}

    @Test("run once in an interval of their clock, and continue after failures, which are logged once per outage")
    func outage() async throws {
        let (clock, log) = (ManualClock(), LogRecorder())
        let runs = Mutex(0)
        let job = PeriodicJob(
            "test", PeriodicSchedule(every: .seconds(60), retryEvery: .seconds(5), firstAfter: .seconds(1)), logger: log.logger,
            clock: clock
        ) {
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            if (2...4).contains(run) { throw Trouble() }
        }
        let running = Task { try await job.run() }
        for (pause, expected) in [(1, 1), (60, 2), (5, 3), (5, 4), (5, 5), (59, 5), (1, 6)] {
            try await eventually("the pause before run \(expected)") { clock.sleepers == 1 }
            clock.advance(by: .seconds(pause))
            try await eventually("run \(expected)") { runs.withLock { $0 } == expected }
        }
        running.cancel()
        try await running.value
        #expect(log.messages == ["error: a periodic job fails", "notice: a periodic job succeeds again"])
    }

    @Test("end by a fatal error, by cancellation or by graceful shutdown, and not by other errors")
    func ends() async throws {
        let log = LogRecorder()
        let loop = PeriodicLoop("test", PeriodicSchedule(every: .seconds(60)), logger: log.logger, isFatal: { $0 is Fatal })
        await #expect(throws: Fatal.self) { try await loop.run { throw Fatal() } }
        #expect(log.messages == [])

        let started = Mutex(false)
        let job = PeriodicJob("test", PeriodicSchedule(every: .seconds(60)), logger: log.logger) {
            started.withLock { $0 = true }
            // A run that is in progress is cancelled.
            try await untilCancelled()
        }
        let group = ServiceGroup(configuration: .init(services: [job], logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() }))
        let running = Task { try await group.run() }
        try await eventually("the first run") { started.withLock { $0 } }
        await group.triggerGracefulShutdown()
        try await running.value
    }
}
