import CoachCore
import Logging
import ServiceLifecycle
import Synchronization

/// Runs the jobs of the queue on this instance: takes what is due under a lease, renews it, and records the ends.
///
/// One round trip records all ends since the last one and takes as many new jobs, so the busier the instance is the fewer transactions a job costs.
public final class JobRunner: Service {
    /// Times of a runner.
    public struct Timing: Sendable {
        /// How long a job whose process died waits for its next run, at most.
        public var lease: Duration
        /// How late a job that was enqueued elsewhere is noticed, at most.
        public var pollInterval: Duration
        /// How long runs may go on in a graceful shutdown.
        public var patience: Duration

        public init(lease: Duration = .seconds(10), pollInterval: Duration = .seconds(1), patience: Duration = .seconds(5)) {
            self.lease = lease
            self.pollInterval = pollInterval
            self.patience = patience
        }
    }

    private let queue: JobQueue
    private let handlers: [JobKind: JobHandler]
    private let metrics: JobMetrics
    private let timing: Timing
    private let logger: Logger
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double
    private let board: Mutex<JobBoard>
    /// What cancels each run.
    private let cancellations = Mutex<[JobRun: @Sendable () -> Void]>([:])
    /// Something may be due, or has ended. One signal is kept while an exchange is under way.
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    /// `random`: 0 to 1. The time limits of handlers are the machine's time, everything else is `clock`'s.
    public init(
        queue: JobQueue, handlers: [JobHandler], metrics: JobMetrics, timing: Timing = Timing(), logger: Logger,
        clock: any Clock<Duration> = ContinuousClock(), random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.queue = queue
        self.handlers = Dictionary(uniqueKeysWithValues: handlers.map { ($0.kind, $0) })
        self.metrics = metrics
        self.timing = timing
        self.logger = logger
        self.clock = clock
        self.random = random
        board = Mutex(JobBoard(slots: Dictionary(uniqueKeysWithValues: handlers.map { ($0.kind, $0.concurrency) })))
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Looks for due jobs at once: to be called after a transaction that enqueued one.
    public func poke() { signal.yield() }

    /// Until shut down gracefully, after which runs have `patience` to end; those that have not are returned to the queue. Cancelled: at once, and
    /// the jobs become due again when their leases expire.
    public func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.poll() }
                group.addTask { await self.requestRenewals() }
                await serve(&group)
                group.cancelAll()
            }
        } onGracefulShutdown: { [self] in
            board.withLock { $0.stop() }
            poke()
        }
    }

    private func serve(_ group: inout DiscardingTaskGroup) async {
        var outage = Outage()
        var isStopping = false
        poke()
        for await _ in signals {
            if !isStopping, board.withLock({ $0.isStopping }) {
                isStopping = true
                group.addTask { await self.cancelWhatIsLeft() }
            }
            let isLast = board.withLock { $0.isDrained }
            do {
                // One after the other: two statements that lock some of the same jobs would wait for each other.
                try await renewLeases()
                for job in try await exchange() {
                    guard let handler = handlers[job.kind] else { continue }
                    group.addTask { await self.execute(job, handler) }
                }
                if outage.ended() { logger.notice("jobs are taken again") }
            } catch {
                if outage.began() { logger.error("jobs cannot be taken", metadata: ["error": "\(error)"]) }
            }
            if isLast { return }
        }
    }

    /// Records ends and takes jobs.
    private func exchange() async throws -> [Job] {
        let (ended, wanted) = board.withLock { ($0.ended, $0.wanted) }
        let jobs = try await queue.exchange(ended, wanted, timing.lease)
        board.withLock { board in
            board.recorded(ended.count)
            for job in jobs { board.start(job, deadline: .now + (handlers[job.kind]?.timeLimit ?? .zero)) }
        }
        return jobs
    }

    /// Extends the leases of what runs, when it is time.
    private func renewLeases() async throws {
        guard board.withLock({ $0.isRenewalDue }) else { return }
        for run in board.withLock({ $0.overdue(at: .now) }) { cancel(run, because: .timeLimit) }
        let held = board.withLock { $0.running }
        if !held.isEmpty {
            let kept = try await queue.renew(held, timing.lease)
            for run in held where !kept.contains(run.id) { cancel(run, because: .leaseLost) }
        }
        board.withLock { $0.isRenewalDue = false }
    }

    private func execute(_ job: Job, _ handler: JobHandler) async {
        // Cancelled by `cancel`, or with this task.
        let task = Task { try await handler.run(job) }
        cancellations.withLock { $0[job.run] = { task.cancel() } }
        // It may have been cancelled before there was a task.
        if board.withLock({ $0.isCancelled(job.run) }) { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        cancellations.withLock { _ = $0.removeValue(forKey: job.run) }
        var failure: (any Error)?
        if case .failure(let error) = result { failure = error }
        let outcome = board.withLock { $0.end(job.run, failure: failure, random: random()) }
        metrics.count(outcome, of: job.kind)
        log(outcome, of: job, failure)
        poke()
    }

    // MARK: Beside the exchange

    private func poll() async {
        let schedule = PeriodicSchedule(every: timing.pollInterval, firstAfter: timing.pollInterval, jitter: 0.2)
        try? await PeriodicLoop("job polling", schedule, logger: logger, clock: clock, random: random).run { poke() }
    }

    private func requestRenewals() async {
        // Two renewals may fail before a lease expires.
        let schedule = PeriodicSchedule(every: timing.lease / 3, firstAfter: timing.lease / 3, jitter: 0.1)
        try? await PeriodicLoop("job lease renewal", schedule, logger: logger, clock: clock, random: random).run {
            board.withLock { $0.isRenewalDue = true }
            poke()
        }
    }

    private func cancelWhatIsLeft() async {
        guard (try? await clock.sleep(for: timing.patience)) != nil else { return }
        for run in board.withLock({ $0.running }) { cancel(run, because: .shutdown) }
    }

    private func cancel(_ run: JobRun, because reason: JobBoard.Cancellation) {
        guard board.withLock({ $0.cancel(run, because: reason) }) else { return }
        cancellations.withLock { $0[run] }?()
    }

    private func log(_ outcome: JobBoard.Outcome, of job: Job, _ failure: (any Error)?) {
        let level: Logger.Level =
            switch outcome {
            case .done, .returned: .debug
            case .retried, .lost: .warning
            case .dead: .error
            }
        logger.log(
            level: level, "a job's run ended",
            metadata: [
                "job": "\(job.run.id)", "kind": "\(job.kind)", "attempt": .stringConvertible(job.run.attempt),
                "outcome": "\(outcome.rawValue)",
                "error": "\(failure.map { "\($0)" } ?? "none")",
            ])
    }
}
