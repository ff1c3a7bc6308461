/// Connection string, limits and time-outs of a client.
public struct PostgresConfiguration: Sendable {
    /// Whether statements are prepared once per connection, or parsed each time.
    public enum StatementMode: Sendable {
        /// Prepared under a name, at most 100 per connection. All statements of a batch are parsed before the batch begins.
        case prepared
        /// Parsed with each use: for proxies that pool transactions, behind which the next statement may meet another server process. Such
        /// proxies reject or drop the startup parameter `options`, so none is sent: set `statement_timeout` and `settings` for the role.
        case unnamed
    }

    /// A libpq connection string, `key=value` or `postgres://` URL (PostgreSQL manual, 34.1.1). Host lists, Unix sockets, TLS modes and
    /// password files are libpq's.
    public var connectionString: String
    /// Connection string of `listen`, nil: the same; LISTEN does not work through a proxy that pools transactions.
    public var listenConnectionString: String?
    /// `application_name` in `pg_stat_activity`.
    public var applicationName = "postgres-client"
    /// Connections shared by all callers of `batch`. 0: this client only leases.
    public var sharedConnections = 4
    /// Connections leased at the same time.
    public var maximumLeases = 8
    /// Requests that wait for a shared connection, and as many for a lease; more fail with `poolExhausted` at once.
    public var maximumWaiters = 1024
    /// The server ends a statement after this time (`statement_timeout`); zero: never.
    public var statementTimeout = Duration.seconds(2)
    /// Lookup of the host, TCP, TLS and authentication together, over all addresses: each but the last gets its share and at most a second.
    /// libpq's `connect_timeout` has no effect.
    public var connectTimeout = Duration.seconds(2)
    /// Deadline of requests without their own.
    public var defaultDeadline = Duration.seconds(3)
    /// An unused leased connection is closed after this time.
    public var leaseIdleTimeout = Duration.seconds(60)
    /// Prepared or parsed each time.
    public var statements = StatementMode.prepared
    /// More server settings for every session, for instance `["search_path": "public"]`.
    public var settings: [String: String] = [:]

    /// Receives the server's notices, on the reactor's thread.
    public var onNotice: (@Sendable (PostgresNotice) -> Void)?

    public init(_ connectionString: String) {
        self.connectionString = connectionString
    }

    /// Batches in flight on one shared connection. More wait in the pool, where the first free connection can take them.
    static let pipelineDepth = 32
    /// No batch is sent behind one that has been running for this long.
    static let staleHead = Duration.milliseconds(20)
    static let preparedStatements = 100

    /// A shared connection on which nothing has come back for this long, although statements are out, is given up: the server itself would have ended
    /// the statement earlier; the rest is for the network and a busy machine. Nil when statements may run for ever.
    var silenceLimit: Duration? {
        statementTimeout > .zero ? statementTimeout + .seconds(3) : nil
    }

    /// The `options` keyword: settings of the session, as the server's command line takes them. Nil when none may be sent.
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
