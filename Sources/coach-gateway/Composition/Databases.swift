import Logging
import PostgresClient
import Reactor
import ServiceLifecycle

/// The connections to the database. A statement on a shared connection waits for those before it, so those that take milliseconds and those
/// that may take longer have connections of their own; and a thread of their own, because a thousand rows are decoded on it.
struct Databases {
    /// For turns, and for all that is answered in a few milliseconds.
    let short: PostgresClient
    /// For operators' figures, search, export, billing events, removal of users, and maintenance.
    let long: PostgresClient
    private let longReactor: Reactor

    /// - Parameter reactor: of the short statements, started and stopped by the caller.
    /// - Throws: `ReactorError` when the process has no descriptors left.
    init(_ configuration: GatewayConfiguration, url: String, logger: Logger, reactor: Reactor) throws {
        var options = PostgresConfiguration(url)
        options.listenConnectionString = configuration.databaseListenURL
        options.applicationName = "coach-gateway"
        // Below the contract's 3 s, so that a hanging database is answered in time.
        options.defaultDeadline = .milliseconds(2500)
        options.sharedConnections = configuration.databaseConnections
        options.onNotice = { notice in
            logger.debug(
                "database notice",
                metadata: [
                    "severity": "\(notice.severity)", "sqlstate": "\(notice.sqlState ?? "")", "message": "\(notice.message)",
                ])
        }
        options.statements = configuration.statements == .prepared ? .prepared : .unnamed
        short = PostgresClient(options, reactor: reactor)
        options.applicationName = "coach-gateway-long"
        options.sharedConnections = Self.longConnections
        longReactor = try Reactor(name: "long statements")
        long = PostgresClient(options, reactor: longReactor)
    }

    /// So that a slow statement does not stop the others, and the commits of many billing events are written together.
    private static let longConnections = 4

    var areReachable: Bool { short.status.isReachable && long.status.isReachable }

    func start() { longReactor.start() }

    /// After the end of `service`.
    func stop() { longReactor.stop() }

    var service: some Service { DatabaseService(clients: [short, long]) }
}
