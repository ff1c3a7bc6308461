import Logging
import PostgresClient
import Synchronization

/// Logs why the database cannot be reached while the gateway starts: once for each reason, not for each attempt.
final class StartFailures: Sendable {
    private let database: PostgresClient
    private let logger: Logger
    private let reported = Mutex<String?>(nil)

    init(database: PostgresClient, logger: Logger) {
        self.database = database
        self.logger = logger
    }

    func report(_ error: any Error) {
        var reason = "\(error)"
        if case .unreachable(_, let cause) = database.status { reason = DatabaseFinding.text(cause) }
        let isNew = reported.withLock { reported in
            defer { reported = reason }
            return reported != reason
        }
        if isNew { logger.error("the database cannot be reached yet", metadata: ["error": "\(reason)"]) }
    }
}
