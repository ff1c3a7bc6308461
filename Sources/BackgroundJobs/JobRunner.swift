import CoachCore
import Logging
import ServiceLifecycle
import Synchronization

/// Runs jobs of the durable queue on this instance: takes due jobs under a lease, renews the leases, and records the results.
///
/// One round trip (an exchange) records all results since the last one and takes new jobs. So the busier the instance is, the fewer
/// transactions a job needs.
public final class JobRunner: Service {
    /// The time limits and intervals of a runner.
    public struct Timing: Sendable {
        /// How long a lease is valid: if this process ends, its jobs are run again after at most this time.
        public var lease: Duration
        /// How often the queue is checked for jobs that other instances enqueued.
        public var pollInterval: Duration
        /// How long runs may continue in a graceful shutdown.
        public var gracePeriod: Duration

        public init(lease: Duration = .seconds(10), pollInterval: Duration = .seconds(1), gracePeriod: Duration = .seconds(5)) {
            self.lease = lease
            self.pollInterval = pollInterval
            self.gracePeriod = gracePeriod
        }
    }

    /// How often the results of the last jobs are tried to be recorded in a graceful shutdown.
    private static let lastExchanges = 3

    private let queue: JobQueue
    private let handlers: [JobKind: JobHandler]
    private let metrics: JobMetrics
    private let timing: Timing
    private let logger: Logger
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double
    private let machine: Mutex<JobRunnerMachine>
    /// Cancels the task of each run.
    private let cancellations = Mutex<[JobRun: @Sendable () -> Void]>([:])
    /// A signal requests an exchange: a job may be due, or a run has ended. During an exchange at most one signal is kept.
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - clock: for all times but the time limits of handlers, which use the continuous clock.
    ///   - random: 0 to 1.
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
        machine = Mutex(JobRunnerMachine(slots: Dictionary(uniqueKeysWithValues: handlers.map { ($0.kind, $0.concurrency) })))
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Checks for due jobs at once. Call after a transaction that enqueued one.
    public func notify() { signal.yield() }

    /// Runs until shut down gracefully or cancelled. After a graceful shutdown, runs have `Timing.gracePeriod` to end; those that do not are
    /// returned to the queue. After a cancellation it ends at once, and its jobs become due again when their leases expire.
    public func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.poll() }
                group.addTask { await self.requestRenewals() }
                await serve(&group)
                group.cancelAll()
            }
        } onGracefulShutdown: { [self] in
            machine.withLock { $0.stop() }
            notify()
        }
    }

    private func serve(_ group: inout DiscardingTaskGroup) async {
        var outage = Outage()
        var isStopping = false
        var lastExchanges = 0
        notify()
        for await _ in signals {
            if !isStopping, machine.withLock({ $0.isStopping }) {
                isStopping = true
                group.addTask { await self.cancelWhatIsLeft() }
            }
            let isLast = machine.withLock { $0.isDrained }
            do {
                // Sequentially, because both statements lock rows of the same jobs and would wait for each other.
                try await renewLeases()
                for job in try await exchange() {
                    guard let handler = handlers[job.kind] else { continue }
                    group.addTask { await self.execute(job, handler) }
                }
                if outage.ended() { logger.notice("jobs are taken again") }
            } catch {
                if outage.began() { logger.error("jobs cannot be taken", metadata: ["error": "\(error)"]) }
            }
            if isLast {
                // Jobs whose results are not recorded are done once more elsewhere, so that a failed exchange is tried again with the next poll.
                lastExchanges += 1
                if lastExchanges == Self.lastExchanges || machine.withLock({ $0.ended.isEmpty }) { return }
            }
        }
    }

    /// Records results and takes due jobs, in one round trip.
    private func exchange() async throws -> [Job] {
        let (ended, wanted) = machine.withLock { ($0.ended, $0.wanted) }
        let jobs = try await queue.exchange(ended, wanted, timing.lease)
        machine.withLock { machine in
            machine.recorded(ended.count)
            for job in jobs { machine.start(job, deadline: .now + (handlers[job.kind]?.timeLimit ?? .zero)) }
        }
        return jobs
    }

    /// Renews the leases of running jobs, if due; cancels runs whose lease is lost or whose time limit has passed.
    private func renewLeases() async throws {
        guard machine.withLock({ $0.isRenewalDue }) else { return }
        for run in machine.withLock({ $0.overdue(at: .now) }) { cancel(run, because: .timeLimit) }
        let held = machine.withLock { $0.running }
        if !held.isEmpty {
            let kept = try await queue.renew(held, timing.lease)
            for run in held where !kept.contains(run.id) { cancel(run, because: .leaseLost) }
        }
        machine.withLock { $0.isRenewalDue = false }
    }

    private func execute(_ job: Job, _ handler: JobHandler) async {
        // Cancelled by `cancel`, or with this task.
        let task = Task { try await handler.run(job) }
        cancellations.withLock { $0[job.run] = { task.cancel() } }
        // The run may have been cancelled before the task existed.
        if machine.withLock({ $0.isCancelled(job.run) }) { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        cancellations.withLock { _ = $0.removeValue(forKey: job.run) }
        var failure: (any Error)?
        if case .failure(let error) = result { failure = error }
        let outcome = machine.withLock { $0.end(job.run, failure: failure, random: random()) }
        metrics.count(outcome, of: job.kind)
        log(outcome, of: job, failure)
        notify()
    }

    // MARK: Concurrent with the exchanges

    private func poll() async {
        let schedule = PeriodicSchedule(every: timing.pollInterval, firstAfter: timing.pollInterval, jitter: 0.2)
        try? await PeriodicLoop("job polling", schedule, logger: logger, clock: clock, random: random).run { notify() }
    }

    private func requestRenewals() async {
        // A third of the lease, so that two renewals may fail before it expires.
        let schedule = PeriodicSchedule(every: timing.lease / 3, firstAfter: timing.lease / 3, jitter: 0.1)
        try? await PeriodicLoop("job lease renewal", schedule, logger: logger, clock: clock, random: random).run {
            machine.withLock { $0.isRenewalDue = true }
            notify()
        }
    }

    private func cancelWhatIsLeft() async {
        guard (try? await clock.sleep(for: timing.gracePeriod)) != nil else { return }
        for run in machine.withLock({ $0.running }) { cancel(run, because: .shutdown) }
    }

    private func cancel(_ run: JobRun, because reason: JobRunnerMachine.Cancellation) {
        guard machine.withLock({ $0.cancel(run, because: reason) }) else { return }
        cancellations.withLock { $0[run] }?()
    }

    private func log(_ outcome: JobRunnerMachine.Outcome, of job: Job, _ failure: (any Error)?) {
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
