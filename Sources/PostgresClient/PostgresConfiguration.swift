/// Connection string, limits and time limits of a client.
public struct PostgresConfiguration: Sendable {
    /// Whether statements are prepared once per connection, or parsed each time.
    public enum StatementMode: Sendable {
        /// Prepared under a name, at most 100 per connection. All statements of a batch are parsed before the batch begins.
        case prepared
        /// Parsed with each use. For proxies that pool transactions (such as PgBouncer), behind which the next statement may run in another
        /// server process. Such proxies reject or drop the startup parameter `options`, so it is not sent: set `statement_timeout` and
        /// `settings` for the role.
        case unnamed
    }

    /// A libpq connection string, `key=value` or `postgres://` URL (PostgreSQL manual, 34.1.1). Host lists, Unix sockets, TLS modes and
    /// password files work as in libpq.
    public var connectionString: String
    /// Connection string of `listen`, nil: the same; LISTEN does not work through a proxy that pools transactions.
    public var listenConnectionString: String?
    /// `application_name` in `pg_stat_activity`.
    public var applicationName = "postgres-client"
    /// Connections shared by all callers of `batch`. 0: `batch` always fails, only leases are served.
    public var sharedConnections = 4
    /// Connections leased at the same time.
    public var maximumLeases = 8
    /// How many batches may wait for a shared connection, and how many requests for a lease. More fail with `poolExhausted` at once, as do
    /// more than `waitersPerAffinity` batches with one affinity.
    public var maximumWaiters = 1024
    /// The server ends a statement after this time (`statement_timeout`); zero: never.
    public var statementTimeout = Duration.seconds(2)
    /// Time limit for opening a connection: lookup, TCP, TLS and authentication together, over all addresses. Each address but the last
    /// gets an equal share of it, at most a second. libpq's `connect_timeout` has no effect.
    public var connectTimeout = Duration.seconds(2)
    /// Deadline of requests without their own.
    public var defaultDeadline = Duration.seconds(3)
    /// An unused leased connection is closed after this time.
    public var leaseIdleTimeout = Duration.seconds(60)
    public var statements = StatementMode.prepared
    /// More server settings for every session, for instance `["search_path": "public"]`.
    public var settings: [String: String] = [:]

    /// Receives the server's notices, on the reactor's thread; nil: they are dropped.
    public var onNotice: (@Sendable (PostgresNotice) -> Void)?

    public init(_ connectionString: String) {
        self.connectionString = connectionString
    }

    /// Batches with one affinity that may wait: a user with any number of requests leaves the others as many places. No fewer, because limits are exact
    /// also for a user who sends hundreds of requests at once.
    var waitersPerAffinity: Int { maximumWaiters / 2 }
    /// Batches outstanding on one shared connection. More wait in the pool, from which the first free connection takes them.
    static let pipelineDepth = 32
    /// No batch is sent behind one that has been running for this long.
    static let staleHead = Duration.milliseconds(20)
    /// Per connection.
    static let preparedStatements = 100

    /// A shared connection is closed when statements are outstanding and nothing is received for this long. The server would have ended the
    /// statement by `statementTimeout`; 3 s are added for the network and a busy machine. Nil when statements have no time limit.
    var silenceLimit: Duration? {
        statementTimeout > .zero ? statementTimeout + .seconds(3) : nil
    }

    /// The value of the keyword `options`: settings of the session in the form of the server's command line. Nil in mode `unnamed`.
    var sessionOptions: String? {
        guard statements == .prepared else { return nil }
        var all = settings
        all["statement_timeout"] = "\(milliseconds(statementTimeout))"
        return all.sorted { $0.key < $1.key }
            .map { "-c \($0.key)=" + $0.value.replacing("\\", with: "\\\\").replacing(" ", with: "\\ ") }
            .joined(separator: " ")
    }

    private func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    }
}
