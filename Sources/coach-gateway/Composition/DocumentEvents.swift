import CoachCore
import CoachStore
import Logging

/// Logs versions that took effect, what keeps one from it, and outages once.
struct DocumentEvents {
    let logger: Logger
    private var outage = Outage()

    init(logger: Logger) { self.logger = logger }

    mutating func log(_ event: DocumentReloader.Event) {
        switch event {
        case .applied(let versions, let findings):
            _ = outage.ended()
            for version in versions {
                logger.notice(
                    "document applied", metadata: ["document": "\(version.name)", "version": .stringConvertible(version.version)])
            }
            for finding in findings { logger.error("document not applied: the shipped one is used", metadata: ["finding": "\(finding)"]) }
        case .failed(let error):
            if outage.began() { logger.warning("documents could not be read", metadata: ["error": "\(error)"]) }
        }
    }
}
