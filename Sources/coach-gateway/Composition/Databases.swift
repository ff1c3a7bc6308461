import CoachCore
import CoachStore
import Logging
import PostgresClient
import Reactor
import ServiceLifecycle

/// The connections to the database. A statement on a shared connection waits for the ones before it. So statements that may take longer than
/// milliseconds have connections of their own. They also have a thread of their own, because a thousand rows are decoded on it.
struct Databases {
    /// For turns, and for what every request needs: statements of a few milliseconds with small results.
    let short: PostgresClient
    /// For checkpoints and leases, which must not wait for turns that begin: what is not saved yet is lost in a crash.
    let checkpoints: PostgresClient
    /// For what is read and edited through the API. The statements are as short, but their results are large: a page of a creator's personas has
    /// 7 MB of JSON, a page of versions of documents 25 MB. A result is decoded on the thread of its connection.
    let resources: PostgresClient
    /// For operators' figures, search, export, removal of users, and maintenance.
    let long: PostgresClient
    /// For the text of turns that run, or ran, on other instances: megabytes at once. Not `long`, because readers would wait for operators' figures.
    let texts: PostgresClient
    /// For billing events, which senders may repeat by the thousand at once.
    let intake: PostgresClient
    private let longReactor: Reactor
    /// The setting that `stopRequests` connects by.
    private let listenKey: SettingKey

    /// - Parameter reactor: of the short statements, started and stopped by the caller.
    /// - Throws: `ReactorError` when the process has no descriptors left.
    init(_ configuration: GatewayConfiguration, url: String, logger: Logger, reactor: Reactor) throws {
        var options = PostgresConfiguration(url)
        options.listenConnectionString = configuration.databaseListenURL
        listenKey = configuration.databaseListenURL == configuration.databaseURL ? .databaseURL : .databaseListenURL
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
        options.statements = configuration.statements.mode
        short = PostgresClient(options, reactor: reactor)
        options.applicationName = "coach-gateway-checkpoints"
        options.sharedConnections = Self.checkpointConnections
        checkpoints = PostgresClient(options, reactor: reactor)
        options.applicationName = "coach-gateway-long"
        options.sharedConnections = Self.longConnections
        longReactor = try Reactor(name: "long statements")
        long = PostgresClient(options, reactor: longReactor)
        options.applicationName = "coach-gateway-resources"
        options.sharedConnections = Self.resourceConnections
        resources = PostgresClient(options, reactor: longReactor)
        options.applicationName = "coach-gateway-texts"
        options.sharedConnections = Self.textConnections
        texts = PostgresClient(options, reactor: longReactor)
        options.applicationName = "coach-gateway-intake"
        options.sharedConnections = Self.intakeConnections
        intake = PostgresClient(options, reactor: longReactor)
    }

    /// So that a lease does not wait for a checkpoint.
    private static let checkpointConnections = 2
    private static let resourceConnections = 4
    /// So that a slow statement does not stop the others.
    private static let longConnections = 4
    /// For the first two of the three readers of such text: turns that are read already, and new ones. The third reads orphans, of which there are few.
    private static let textConnections = 2
    /// For billing events. One connection stores events together (`BillingInbox`), the others store single events. With two connections in all, events
    /// that come in the seconds after a pause of the disk are delayed (p99 0.6 s at 500/s).
    private static let intakeConnections = 4

    /// By the names of their metrics.
    var all: [(name: String, client: PostgresClient)] {
        [
            ("short", short), ("checkpoints", checkpoints), ("resources", resources), ("long", long), ("texts", texts), ("intake", intake),
        ]
    }

    var areReachable: Bool { all.allSatisfy { $0.client.status.isReachable } }

    /// The ids of turns that are to stop. Logs why none can arrive, in the words of `check`: nothing else would show a wrong
    /// DATABASE_LISTEN_URL, because every stop is found with the next renewal of the lease.
    func stopRequests(logger: Logger) -> some AsyncSequence<TurnID, Never> & Sendable {
        short.stopRequests { [listenKey] error in
            logger.error("no connection for notifications", metadata: ["error": "\(listenKey.name): \(DatabaseFinding.text(error))"])
        }
    }

    func start() { longReactor.start() }

    /// After the end of `service`.
    func stop() { longReactor.stop() }

    var service: some Service { DatabaseService(clients: all.map { $0.client }) }
}
