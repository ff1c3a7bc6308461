import BackgroundJobs
import CoachCore
import CoreMetrics
import Logging
import ServiceLifecycle

/// Keeps operators' figures and alerts up to date. On every instance: in the database one works at a time.
struct FigureUpdates: Service {
    let rollups: Rollups
    let alerts: AlertEvaluation
    let jobs: JobRunner
    let logger: Logger

    func run() async throws {
        // CONTRACT §5: at most 5 s behind.
        let folding = PeriodicJob(
            "rollups of the ledger", PeriodicSchedule(every: .seconds(2), firstAfter: .seconds(1), jitter: 0.2), logger: logger
        ) {
            try await Self.fold(rollups) { lag in Gauge(label: "coach_figures_lag_seconds").record(lag / .seconds(1)) }
        }
        let evaluation = PeriodicJob("alerts", PeriodicSchedule(every: .seconds(10), firstAfter: .seconds(3), jitter: 0.2), logger: logger)
        {
            try await alerts.run()
            // It may have enqueued deliveries.
            jobs.notify()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await folding.run() }
            group.addTask { try await evaluation.run() }
            try await group.waitForAll()
        }
    }

    /// Folds, and notes how far the figures are behind: also when that fails, because they become older meanwhile.
    static func fold(_ rollups: Rollups, noting note: (Duration) -> Void) async throws {
        do {
            if let lag = try await rollups.fold() { note(lag) }
        } catch {
            // A database that is away does not answer this either.
            if let lag = try? await rollups.lag() { note(lag) }
            throw error
        }
    }
}
