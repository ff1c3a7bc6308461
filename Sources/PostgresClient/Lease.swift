import Reactor

/// A connection that is reserved for one caller, from `PostgresClient.withConnection`. Statements run in order, each in its own transaction
/// unless one was begun. Valid only inside the closure that received it; later calls throw `protocolViolation`.
///
/// When the caller's task is cancelled or a deadline passes, the running statement is cancelled at the server and the connection is not
/// used again.
public struct Lease: Sendable {
    let leased: ReactorBound<LeasedConnection>
    private let defaultDeadline: Duration

    /// Call on the reactor's thread.
    init(_ leased: LeasedConnection, on reactor: Reactor, defaultDeadline: Duration) {
        self.leased = ReactorBound(leased, to: reactor)
        self.defaultDeadline = defaultDeadline
    }

    /// Runs one statement and decodes its rows. `decode` runs on the reactor's thread and must be fast.
    /// - Parameter deadline: nil means the configuration's.
    /// - Throws: `PostgresError`, or what `decode` throws.
    @discardableResult
    public func query<Value: Sendable>(
        _ query: Query, deadline: Duration? = nil, decode: @escaping @Sendable (borrowing Rows) throws -> Value
    ) async throws -> Value {
        try await batch([query], deadline: deadline, decode: decode)
    }

    /// Sends statements together, in one round trip; `decode` receives the rows of the last. If one fails, those after it are skipped.
    @discardableResult
    public func batch<Value: Sendable>(
        _ queries: [Query], deadline: Duration? = nil, decode: @escaping @Sendable (borrowing Rows) throws -> Value
    ) async throws -> Value {
        let batch = try TypedBatch(queries, decode: decode)
        return try await run(batch, deadline: deadline ?? defaultDeadline)
    }

    /// Runs one statement and returns the number of affected rows.
    @discardableResult
    public func execute(_ query: Query, deadline: Duration? = nil) async throws -> Int {
        try await self.query(query, deadline: deadline) { $0.affectedRows }
    }

    /// Runs a text of several statements without parameters, in one transaction unless the text controls transactions itself. Only for
    /// trusted text, such as migrations. COPY is not supported.
    /// - Parameter deadline: nil means none; the server's `statement_timeout` still applies to each statement.
    public func execute(script: String, deadline: Duration? = nil) async throws {
        try await run(TypedBatch(script: script, value: ()), deadline: deadline)
    }

    private func run<Value>(_ batch: TypedBatch<Value>, deadline: Duration?) async throws -> Value {
        try await ReactorBound(batch, to: leased.reactor).answer { [leased] batch in leased.current.send(batch, deadline: deadline) }
    }
}

/// The connection of a lease. `Lease` is its sendable handle for the caller; this is used only on the reactor's thread.
final class LeasedConnection {
    let id: PoolMachine.ConnectionID
    let connection: Connection
    var isReturned = false
    /// A statement was cancelled or abandoned: the connection must be closed, not reused.
    private(set) var isTainted = false

    init(_ id: PoolMachine.ConnectionID, _ connection: Connection) {
        self.id = id
        self.connection = connection
    }

    func send(_ batch: Batch, deadline: Duration?) {
        guard !isReturned, !isTainted else { return batch.fail(PostgresError(.protocolViolation, "the lease is over")) }
        // A connection that has ended has no owner any more that would answer.
        guard connection.machine.state == .open else {
            return batch.fail(PostgresError(.unavailable, "the connection of the lease was lost"))
        }
        batch.begin(on: connection.reactor, deadline: deadline) { [self] in
            isTainted = true
            connection.cancelRunning()
        }
        connection.send(batch)
    }
}

/// A request for a leased connection.
final class PendingLease: PendingRequest, Awaitable {
    var reply = Reply<Lease>()

    func succeed(_ lease: Lease) {
        settle { reply.resume(with: .success(lease)) }
    }

    override func deliver(_ error: any Error) {
        reply.resume(with: .failure(error))
    }
}

/// Resets a session between two leases: roles, settings, locks and temporary tables of one caller do not reach the next. As `DISCARD ALL`,
/// but it keeps the prepared statements.
final class SessionReset: Batch {
    private static let script = """
        close all; set session authorization default; reset all; unlisten *; select pg_advisory_unlock_all(); discard temp; \
        discard sequences
        """

    private let whenDone: (_ isClean: Bool) -> Void

    init(whenDone: @escaping (_ isClean: Bool) -> Void) {
        self.whenDone = whenDone
        super.init(.script(Self.script))
    }

    override func succeed() {
        settle { whenDone(true) }
    }

    override func deliver(_ error: any Error) {
        whenDone(false)
    }
}
