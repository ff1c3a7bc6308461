import CoachCore
import CoreMetrics
import Synchronization

/// The metrics of jobs by kind: a counter of ended runs, and gauges of waiting and dead jobs.
public final class JobMetrics: Sendable {
    private let runs: [JobKind: [JobRunnerMachine.Outcome: Counter]]
    /// Kinds that have gauges. Remembered, to set the gauges to 0 when the database has no more jobs of the kind.
    private let known: Mutex<Set<JobKind>>

    /// - Parameter kinds: those with a handler.
    public init(kinds: [JobKind]) {
        runs = Dictionary(
            uniqueKeysWithValues: kinds.map { kind in
                let counters = JobRunnerMachine.Outcome.allCases.map { outcome in
                    (outcome, Counter(label: "coach_jobs", dimensions: [("kind", kind.rawValue), ("outcome", outcome.rawValue)]))
                }
                return (kind, Dictionary(uniqueKeysWithValues: counters))
            })
        known = Mutex(Set(kinds))
    }

    func count(_ outcome: JobRunnerMachine.Outcome, of kind: JobKind) { runs[kind]?[outcome]?.increment() }

    /// Sets the gauges. They count the jobs in the database, so every instance reports the same values.
    public func record(_ figures: [JobFigures]) {
        let found = Dictionary(uniqueKeysWithValues: figures.map { ($0.kind, $0) })
        let kinds = known.withLock { known in
            known.formUnion(found.keys)
            return known
        }
        for kind in kinds {
            let labels = [("kind", kind.rawValue)]
            Gauge(label: "coach_jobs_ready", dimensions: labels).record(found[kind]?.ready ?? 0)
            Gauge(label: "coach_jobs_dead", dimensions: labels).record(found[kind]?.dead ?? 0)
            Gauge(label: "coach_jobs_oldest_seconds", dimensions: labels).record((found[kind]?.oldest ?? .zero) / .seconds(1))
        }
    }
}
