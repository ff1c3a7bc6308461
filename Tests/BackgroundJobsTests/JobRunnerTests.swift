import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

/// A queue in memory. The test decides when leases expire.
private final class FakeQueue: Sendable {
    struct State {
        var ready: [Job] = []
        var ended: [EndedRun] = []
        var lost: Set<JobID> = []
        var exchanges = 0
        var renewals = 0
        var isAway = false
    }
    let state = Mutex(State())

    var port: JobQueue {
        JobQueue(
            enqueue: { _ in nil },
            exchange: { [self] ended, wanted, _ in
                try state.withLock { state in
                    state.exchanges += 1
                    if state.isAway { throw StoreFault.unavailable(retryAfter: 1) }
                    state.ended += ended
                    let taken = state.ready.prefix(wanted[.test] ?? 0)
                    state.ready.removeFirst(taken.count)
                    return Array(taken)
                }
            },
            renew: { [self] held, _ in
                state.withLock { state in
                    state.renewals += 1
                    return Set(held.map(\.id)).subtracting(state.lost)
                }
            },
            figures: { [] })
    }

    var ended: [EndedRun] { state.withLock { $0.ended } }
    var exchanges: Int { state.withLock { $0.exchanges } }
    func add(_ jobs: Job...) { state.withLock { $0.ready += jobs } }
}

@Suite("JobRunner")
struct JobRunnerTests {
    private let clock = ManualClock()
    private let queue = FakeQueue()
    private let log = LogRecorder()

    private func runner(concurrency: Int = 2, _ work: @escaping @Sendable (Job) async throws -> Void) -> JobRunner {
        JobRunner(
            queue: queue.port, handlers: [JobHandler(.test, concurrency: concurrency, payload: { $0 }, run: work)],
            metrics: JobMetrics(kinds: [.test]), logger: log.logger, clock: clock, random: { 0 })
    }

    /// Runs the runner during `body`, then shuts it down gracefully.
    private func serving(_ runner: JobRunner, _ body: () async throws -> Void) async throws {
        let quiet = Logger(label: "group") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(configuration: .init(services: [runner], logger: quiet))
        let running = Task { try await group.run() }
        // Polling and renewal sleep, so the runner has started.
        try await eventually("the runner") { clock.sleepers == 2 }
        try await body()
        await group.triggerGracefulShutdown()
        try await running.value
    }

    @Test("takes a job at once after notify, otherwise within a second, and records its result at once")
    func takes() async throws {
        let runner = runner { _ in }
        try await serving(runner) {
            try await eventually("the first exchange") { queue.exchanges > 0 }
            queue.add(.test(1))
            runner.notify()
            try await eventually("the end") { queue.ended.map(\.run.id.raw) == [1] }
            queue.add(.test(2))
            try await eventually("sleep") { clock.sleepers == 2 }
            clock.advance(by: .seconds(1))
            try await eventually("the end") { queue.ended.map(\.run.id.raw) == [1, 2] }
        }
        #expect(queue.ended.allSatisfy { $0.result == .done })
    }

    @Test("never runs more jobs at once than the handler's concurrency, and runs all of them")
    func concurrency() async throws {
        let running = Mutex((now: 0, most: 0))
        let runner = runner(concurrency: 3) { _ in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
        }
        try await serving(runner) {
            for number in 1...100 { queue.add(.test(Int64(number))) }
            runner.notify()
            try await eventually("all ends") { queue.ended.count == 100 }
        }
        #expect(running.withLock { $0.most } <= 3)
        #expect(Set(queue.ended.map(\.run.id)).count == 100)
    }

    @Test("a failed job is recorded with its reason, one with an invalid payload is dead, and others continue")
    func failures() async throws {
        struct Trouble: Error {}
        let runner = JobRunner(
            queue: queue.port,
            handlers: [
                JobHandler(.test, concurrency: 2, payload: { $0.run.id.raw == 2 ? nil : $0.run.id.raw }) { id in
                    if id == 1 { throw Trouble() }
                }
            ], metrics: JobMetrics(kinds: [.test]), logger: log.logger, clock: clock, random: { 1 })
        try await serving(runner) {
            queue.add(.test(1), .test(2), .test(3))
            runner.notify()
            try await eventually("all ends") { queue.ended.count == 3 }
        }
        let results = Dictionary(uniqueKeysWithValues: queue.ended.map { ($0.run.id.raw, $0.result) })
        #expect(results[1] == .retry(after: .seconds(1), reason: "Trouble()"))
        #expect(results[2] == .dead(reason: "the payload is not one of this kind"))
        #expect(results[3] == .done)
    }

    @Test("leases of long runs are renewed; a run whose lease was lost is cancelled, and its result is not recorded")
    func leases() async throws {
        let runner = runner { _ in try await untilCancelled() }
        try await serving(runner) {
            queue.add(.test(1), .test(2))
            runner.notify()
            try await eventually("both taken") { queue.state.withLock { $0.ready.isEmpty } && clock.sleepers == 2 }
            queue.state.withLock { $0.lost = [JobID(1)] }
            clock.advance(by: .seconds(4))
            try await eventually("the end of the lost one") { log.messages.contains { $0.hasPrefix("warning: a job's run ended") } }
            #expect(queue.ended == [])
            queue.state.withLock { $0.lost = [] }
            // Its slot is free.
            queue.add(.test(3))
            try await eventually("sleep") { clock.sleepers == 2 }
            clock.advance(by: .seconds(4))
            try await eventually("the third is taken") { queue.state.withLock { $0.ready.isEmpty } }
            try await eventually("two renewals") { queue.state.withLock { $0.renewals } >= 2 }
            drainSoon()
        }
        #expect(queue.ended.count == 2 && queue.ended.allSatisfy { $0.result == .returned })
    }

    @Test("a graceful shutdown takes no more jobs, waits for running ones, and returns those that take too long")
    func shutdown() async throws {
        let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let runner = runner { job in
            if job.run.id.raw == 1 {
                await withCheckedContinuation { open in gate.withLock { $0 = open } }
            } else {
                try await untilCancelled()
            }
        }
        try await serving(runner) {
            queue.add(.test(1), .test(2))
            runner.notify()
            try await eventually("both run") { gate.withLock { $0 != nil } && queue.state.withLock { $0.ready.isEmpty } }
            queue.add(.test(3))
            drainSoon { gate.withLock { $0?.resume() } }
        }
        #expect(Set(queue.ended.map(\.run.id.raw)) == [1, 2])
        #expect(queue.ended.first { $0.run.id.raw == 1 }?.result == .done)
        #expect(queue.ended.first { $0.run.id.raw == 2 }?.result == .returned)
        #expect(queue.state.withLock { $0.ready.map(\.run.id.raw) } == [3])
    }

    @Test("while the database is unavailable results are kept, and recorded afterwards; the outage is logged once")
    func outage() async throws {
        let runner = runner { [queue] _ in queue.state.withLock { $0.isAway = true } }
        try await serving(runner) {
            queue.add(.test(1))
            runner.notify()
            try await eventually("the outage") { log.messages.contains("error: jobs cannot be taken") }
            let before = queue.exchanges
            runner.notify()
            try await eventually("another attempt") { queue.exchanges > before }
            #expect(queue.ended == [])
            queue.state.withLock { $0.isAway = false }
            runner.notify()
            try await eventually("the end") { queue.ended.map(\.result) == [.done] }
            try await eventually("the log") { log.messages.contains("notice: jobs are taken again") }
        }
        #expect(log.messages.count { $0 == "error: jobs cannot be taken" } == 1)
    }

    @Test("a result that could not be recorded in a shutdown is tried again with the next poll")
    func lastResult() async throws {
        let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let runner = runner { _ in await withCheckedContinuation { open in gate.withLock { $0 = open } } }
        try await serving(runner) {
            queue.add(.test(1))
            runner.notify()
            try await eventually("it runs") { gate.withLock { $0 != nil } }
            failOnceInShutdown { gate.withLock { $0?.resume() } }
        }
        #expect(queue.ended.map(\.result) == [.done])
    }

    /// In the following shutdown the queue cannot be reached when `end` ends the last run, but at the poll after it.
    private func failOnceInShutdown(_ end: @escaping @Sendable () -> Void) {
        // Ends by itself.
        Task { [clock, queue, log] in
            try await eventually("gracePeriod") { clock.sleepers == 3 }
            queue.state.withLock { $0.isAway = true }
            end()
            try await eventually("the outage") { log.messages.contains("error: jobs cannot be taken") }
            queue.state.withLock { $0.isAway = false }
            clock.advance(by: .seconds(2))
        }
    }

    /// Lets `gracePeriod` of the following shutdown pass as soon as the runner sleeps for it: it is the third sleeper.
    private func drainSoon(_ meanwhile: @escaping @Sendable () -> Void = {}) {
        // Ends by itself.
        Task { [clock] in
            try await eventually("gracePeriod") { clock.sleepers == 3 }
            meanwhile()
            clock.advance(by: .seconds(5))
        }
    }
}
