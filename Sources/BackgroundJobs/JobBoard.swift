import CoachCore

/// What an instance runs at the moment, and how runs ended whose end is not recorded yet. Pure.
struct JobBoard {
    /// Why this instance cancels a run.
    enum Cancellation {
        /// Another instance may run the job now.
        case leaseLost
        case timeLimit
        case shutdown
    }

    /// What became of a run, for the log and the metrics. With `lost` nothing is recorded.
    enum Outcome: String, CaseIterable {
        case done, retried, dead, returned, lost
    }

    private struct Entry {
        var job: Job
        var deadline: ContinuousClock.Instant
        var cancellation: Cancellation?
    }

    private var slots: [JobKind: Int]
    private var entries: [JobRun: Entry] = [:]
    /// In the order of their ends.
    private(set) var ended: [EndedRun] = []
    private(set) var isStopping = false
    /// It is time to extend the leases.
    var isRenewalDue = false

    /// `slots`: how many jobs of each kind run at once.
    init(slots: [JobKind: Int]) { self.slots = slots }

    var running: [JobRun] { Array(entries.keys) }
    /// Nothing runs, and nothing will.
    var isDrained: Bool { isStopping && entries.isEmpty }

    /// How many jobs of each kind may be taken.
    var wanted: [JobKind: Int] { isStopping ? [:] : slots.filter { $0.value > 0 } }

    /// No job is taken any more.
    mutating func stop() { isStopping = true }

    mutating func start(_ job: Job, deadline: ContinuousClock.Instant) {
        slots[job.kind, default: 0] -= 1
        entries[job.run] = Entry(job: job, deadline: deadline)
    }

    /// Notes why a run is being cancelled; the first reason counts. False: it does not run any more, or is being cancelled already.
    mutating func cancel(_ run: JobRun, because reason: Cancellation) -> Bool {
        guard entries[run] != nil, entries[run]?.cancellation == nil else { return false }
        entries[run]?.cancellation = reason
        return true
    }

    func isCancelled(_ run: JobRun) -> Bool { entries[run]?.cancellation != nil }

    /// Runs that have taken longer than they may.
    func overdue(at moment: ContinuousClock.Instant) -> [JobRun] { entries.filter { $0.value.deadline <= moment }.map(\.key) }

    /// A run has ended. `failure`: what it threw. `random`: 0 to 1, for the pause before the next attempt.
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

    /// So many ends, the first ones, are recorded.
    mutating func recorded(_ count: Int) { ended.removeFirst(count) }

    private mutating func record(_ run: JobRun, _ result: EndedRun.Result, as outcome: Outcome) -> Outcome {
        ended.append(EndedRun(run: run, result: result))
        return outcome
    }
}
