/// One caller's statements, for pool and connection, without the type of their result.
class Batch: PendingRequest {
    enum Work {
        /// Sent together: one round trip, one implicit transaction.
        case queries([EncodedQuery])
        /// Several statements in one text, without parameters, by the simple protocol.
        case script(String)
    }

    let work: Work
    /// Batches with the same affinity share one connection; nil: any.
    let affinity: UInt64?
    /// Written to a connection. A sent batch runs on when its caller gave up; its result is dropped.
    var wasSent = false
    /// The prepared statements that this attempt relies on.
    var statements: [String] = []
    /// Attempts left after a prepared statement was outdated; each shared connection can have its own outdated copy.
    var retriesLeft = 4

    override var mayTakeEffect: Bool { wasSent }

    init(_ work: Work, affinity: UInt64? = nil) {
        self.work = work
        self.affinity = affinity
    }

    /// The result of the last statement.
    func receive(_ rows: borrowing Rows) {}

    /// All statements are committed.
    func succeed() {}
}

/// A batch with a result of type `Value`.
final class TypedBatch<Value: Sendable>: Batch, Awaitable {
    var reply = Reply<Value>()
    private let decode: @Sendable (borrowing Rows) throws -> Value
    private var value: Result<Value, any Error>

    /// - Throws: `PostgresError` when a parameter cannot be sent.
    init(_ queries: [Query], affinity: UInt64? = nil, decode: @escaping @Sendable (borrowing Rows) throws -> Value) throws {
        guard !queries.isEmpty else { throw PostgresError(.protocolViolation, "a batch without statements") }
        self.decode = decode
        value = .failure(PostgresError(.protocolViolation, "no result came"))
        super.init(.queries(try queries.map(EncodedQuery.init)), affinity: affinity)
    }

    /// Work without a result.
    init(script: String, value: Value) {
        decode = { _ in value }
        self.value = .success(value)
        super.init(.script(script))
    }

    override func receive(_ rows: borrowing Rows) {
        guard !isAnswered else { return }
        do {
            value = .success(try decode(rows))
        } catch {
            value = .failure(error)
        }
    }

    override func succeed() {
        settle { reply.resume(with: value) }
    }

    override func deliver(_ error: any Error) {
        reply.resume(with: .failure(error))
    }
}
