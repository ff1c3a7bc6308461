import Reactor

/// An asynchronous PostgreSQL client with a connection pool, on libpq: a few shared connections in pipeline mode for short batches, leased
/// connections for transactions and slow statements, and one connection for each listener. Reconnects automatically.
///
/// Every method may be called from any task, and none blocks a thread. Errors are `PostgresError`, or what a closure of the caller throws.
/// Call `start()` once, and `shutdown()` before the reactor stops; or `run()`.
public final class PostgresClient: Sendable {
    private let pool: ReactorBound<Pool>
    private let configuration: PostgresConfiguration
    private let reachability = SharedStatus(.connecting(since: .now))

    /// Opens no connection before `start`. The reactor may be shared with other libraries.
    public init(_ configuration: PostgresConfiguration, reactor: Reactor) {
        self.configuration = configuration
        pool = ReactorBound(Pool(configuration, on: reactor, status: reachability), to: reactor)
    }

    // MARK: Life cycle

    /// Begins to connect. Requests wait until a connection is open or the first attempt has failed.
    public func start() {
        pool.submit { $0.start() }
    }

    /// Rejects new requests, waits at most `grace` for running ones, then closes everything. Streams of `listen` end.
    public func shutdown(grace: Duration = .seconds(2)) async {
        await withCheckedContinuation { continuation in
            pool.submit { $0.shutDown(grace: grace) { continuation.resume() } }
        }
    }

    /// Starts, runs until the task is cancelled, and shuts down.
    public func run() async {
        start()
        let (never, continuation) = AsyncStream<Never>.makeStream()
        // Ends by cancellation only.
        for await _ in never {}
        continuation.finish()
        await shutdown()
    }

    /// Whether the database can be reached, and since when.
    public var status: PostgresStatus { reachability.value }

    /// Reads the pool's load on the reactor's thread, after the work that was submitted before.
    public func load() async -> PostgresLoad {
        let asked = ContinuousClock.now
        return await withCheckedContinuation { continuation in
            pool.submit { continuation.resume(returning: $0.load(since: asked)) }
        }
    }

    // MARK: Shared connections

    /// Sends statements together on a shared connection: one round trip, one implicit transaction, committed when this returns. If one
    /// fails, the whole batch is rolled back. Roles and settings that are local to a transaction do not affect other callers.
    ///
    /// A batch that waits for a lock delays the batches behind it on its connection: keep `lock_timeout` short, or use a lease. Statements
    /// that control transactions or change the session are not allowed.
    /// - Parameters:
    ///   - affinity: batches with the same affinity use the same connection, so that they run in order, do not wait for each other's locks
    ///     and never occupy all connections nor more than half of the places to wait; nil: the least busy connection.
    ///   - deadline: time limit for getting a connection and the result together; nil: the configuration's.
    ///   - decode: receives the rows of the last statement. Runs on the reactor's thread and must be fast.
    /// - Throws: `PostgresError`, or what `decode` throws (the batch is committed then).
    @discardableResult
    public func batch<Value: Sendable>(
        _ queries: [Query], affinity: UInt64? = nil, deadline: Duration? = nil,
        decode: @escaping @Sendable (borrowing Rows) throws -> Value
    ) async throws -> Value {
        let batch = ReactorBound(try TypedBatch(queries, affinity: affinity, decode: decode), to: pool.reactor)
        let deadline = deadline ?? configuration.defaultDeadline
        return try await batch.answer { [pool] batch in pool.current.admit(batch, deadline: deadline) }
    }

    /// Sends a batch of one statement.
    @discardableResult
    public func query<Value: Sendable>(
        _ query: Query, affinity: UInt64? = nil, deadline: Duration? = nil,
        decode: @escaping @Sendable (borrowing Rows) throws -> Value
    ) async throws -> Value {
        try await batch([query], affinity: affinity, deadline: deadline, decode: decode)
    }

    /// Sends a batch of one statement and returns the number of affected rows.
    @discardableResult
    public func execute(_ query: Query, deadline: Duration? = nil) async throws -> Int {
        try await batch([query], deadline: deadline) { $0.affectedRows }
    }

    // MARK: Leased connections

    /// Reserves a connection while `body` runs. Afterwards the session is reset; if a transaction is still open, the connection is closed.
    /// - Parameter deadline: time limit for getting a connection; nil: the configuration's.
    @discardableResult
    public func withConnection<Value>(deadline: Duration? = nil, _ body: (Lease) async throws -> Value) async throws -> Value {
        let request = ReactorBound(PendingLease(), to: pool.reactor)
        let deadline = deadline ?? configuration.defaultDeadline
        let lease = try await request.answer { [pool] request in pool.current.admit(request, deadline: deadline) }
        defer { pool.submit { $0.takeBack(lease.leased.current) } }
        return try await body(lease)
    }

    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    /// - Parameter deadline: time limit for getting a connection; nil: the configuration's.
    @discardableResult
    public func withTransaction<Value>(deadline: Duration? = nil, _ body: (Lease) async throws -> Value) async throws -> Value {
        try await withConnection(deadline: deadline) { lease in
            try await lease.execute("begin")
            let value: Value
            do {
                value = try await body(lease)
            } catch {
                // If this fails too, the connection is closed, and the server rolls back.
                _ = try? await lease.execute("rollback")
                throw error
            }
            let tag = try await lease.query("commit") { $0.commandTag }
            guard tag == "COMMIT" else {
                throw PostgresError(.protocolViolation, "a statement had failed in the transaction: it was rolled back")
            }
            return value
        }
    }

    // MARK: Notifications

    /// Listens on a connection of its own until the reading task ends or stops reading.
    public func listen(_ channels: [String]) -> AsyncStream<ListenEvent> {
        let (stream, continuation) = AsyncStream<ListenEvent>.makeStream(bufferingPolicy: .bufferingNewest(Listener.bufferedEvents))
        let listener = ReactorBound(Listener(channels, configuration, on: pool.reactor, stream: continuation), to: pool.reactor)
        continuation.onTermination = { _ in listener.submit { $0.stop() } }
        listener.submit { [pool] listener in pool.current.listen(listener) }
        return stream
    }
}
