import BackgroundJobs
import CoachCore
import Logging

extension DocumentReloader {
    /// A poll each second, which with its duration stays below 2 s (CONTRACT §5). Logs versions that took effect, and what keeps one from it.
    /// `onApplied` is called when documents were applied, the first time also when the store has none.
    nonisolated func job(logger: Logger, onApplied: @escaping @Sendable () -> Void) -> PeriodicJob {
        PeriodicJob("documents", PeriodicSchedule(every: .seconds(1)), logger: logger) {
            guard let applied = try await self.poll() else { return }
            onApplied()
            for version in applied.versions {
                logger.notice(
                    "document applied", metadata: ["document": "\(version.name)", "version": .stringConvertible(version.version)])
            }
            for finding in applied.findings {
                logger.error("document not applied: the shipped one is used", metadata: ["finding": "\(finding)"])
            }
        }
    }
}
