import CoachCore

/// The state of a `JobRunner`: the jobs that run on this instance, and the results of runs that are not yet recorded in the database. Pure.
struct JobRunnerMachine {
    /// Why this instance cancels a run.
    enum Cancellation {
        /// The lease expired: another instance may run the job now.
        case leaseLost
        /// The run exceeded `JobHandler.timeLimit`.
        case timeLimit
        case shutdown
    }

    /// How a run ended, for the log and the metrics.
    enum Outcome: String, CaseIterable {
        case done
        /// It failed and will be tried again.
        case retried
        /// It failed for good.
        case dead
        /// Cancelled by a shutdown; the job is due again at once.
        case returned
        /// Its lease was lost, so nothing is recorded.
        case lost
    }

    private struct Entry {
        var job: Job
        var deadline: ContinuousClock.Instant
        var cancellation: Cancellation?
    }

    /// Free slots of each kind.
    private var slots: [JobKind: Int]
    private var entries: [JobRun: Entry] = [:]
    /// Results that are not yet recorded, in the order of the runs' ends.
    private(set) var ended: [EndedRun] = []
    private(set) var isStopping = false
    /// Whether the leases must be renewed.
    var isRenewalDue = false

    /// - Parameter slots: how many jobs of each kind may run at once.
    init(slots: [JobKind: Int]) { self.slots = slots }

    var running: [JobRun] { Array(entries.keys) }
    /// Whether no job runs, and none will be taken.
    var isDrained: Bool { isStopping && entries.isEmpty }

    /// How many jobs of each kind may be taken.
    var wanted: [JobKind: Int] { isStopping ? [:] : slots.filter { $0.value > 0 } }

    /// From now on no job is taken.
    mutating func stop() { isStopping = true }

    mutating func start(_ job: Job, deadline: ContinuousClock.Instant) {
        slots[job.kind, default: 0] -= 1
        entries[job.run] = Entry(job: job, deadline: deadline)
    }

    /// Records why a run is cancelled. False, without a change, when it has ended or was cancelled before.
    mutating func cancel(_ run: JobRun, because reason: Cancellation) -> Bool {
        guard entries[run] != nil, entries[run]?.cancellation == nil else { return false }
        entries[run]?.cancellation = reason
        return true
    }

    func isCancelled(_ run: JobRun) -> Bool { entries[run]?.cancellation != nil }

    /// Runs that have exceeded their time limit.
    func overdue(at moment: ContinuousClock.Instant) -> [JobRun] { entries.filter { $0.value.deadline <= moment }.map(\.key) }

    /// A run has ended. `failure`: the error that it threw. `random`: 0 to 1, for the pause before the next attempt.
    mutating func end(_ run: JobRun, failure: (any Error)?, random: Double) -> Outcome {
        guard let entry = entries.removeValue(forKey: run) else { return .lost }
        slots[entry.job.kind, default: 0] += 1
        guard let failure else { return record(run, .done, as: .done) }
        var reason = "\(failure)"
        switch entry.cancellation {
        case .leaseLost: return .lost
        case .shutdown: return record(run, .returned, as: .returned)
        case .timeLimit: reason = "it took longer than it may: \(reason)"
        case nil: break
        }
        if entry.job.isLastAttempt || failure is JobRejected { return record(run, .dead(reason: reason), as: .dead) }
        return record(run, .retry(after: JobBackoff.pause(afterAttempt: run.attempt, random: random), reason: reason), as: .retried)
    }

    /// The first `count` results were recorded.
    mutating func recorded(_ count: Int) { ended.removeFirst(count) }

    private mutating func record(_ run: JobRun, _ result: EndedRun.Result, as outcome: Outcome) -> Outcome {
        ended.append(EndedRun(run: run, result: result))
        return outcome
    }
}
