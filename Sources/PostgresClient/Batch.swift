/// The statements of one call of `batch`, `query` or `execute`, which run together on one connection. `Pool` and `Connection` handle
/// batches by this class; `TypedBatch` adds the type of the result.
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
    /// Whether it was written to a connection. A batch that was sent runs to its end also when its caller gives up; its result is dropped.
    var wasSent = false
    /// Names of the prepared statements that it was last sent with.
    var statements: [String] = []
    /// How often it may be sent again because a prepared statement was outdated. More than once, because each shared connection can have
    /// its own outdated copy.
    var retriesLeft = 4

    override var mayTakeEffect: Bool { wasSent }

    init(_ work: Work, affinity: UInt64? = nil) {
        self.work = work
        self.affinity = affinity
    }

    /// Called with the rows of the last statement, before it is committed.
    func receive(_ rows: borrowing Rows) {}

    /// Answers the caller after the commit, with what `receive` decoded.
    func succeed() {}
}

/// A batch whose caller gets a `Value`, decoded from the rows of the last statement.
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

    /// A script, which has no rows: its caller gets `value`.
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
