/// An error of a request to the database.
///
/// `description` may be logged: it has kind, code and constraint, and the server's message only for codes whose messages name schema
/// objects or the server's state and never quote data. `message` is the server's text and can quote values; do not log it. The server's
/// detail, which quotes the values of keys, and its hint are not kept.
public struct PostgresError: Error, Sendable, Hashable {
    /// Kinds of failure that callers distinguish.
    public enum Kind: Sendable, Hashable {
        /// No connection, or the connection was lost.
        case unavailable
        /// The answer did not come within the caller's deadline.
        case deadline
        /// The caller's task was cancelled.
        case cancelled
        /// The server rejected the statement; see `sqlState`.
        case server
        /// Too many requests are waiting.
        case poolExhausted
        /// Invalid use of the driver, an unexpected message of the server, or a result of another shape than requested.
        case protocolViolation
    }

    public let kind: Kind
    /// The server's five-character code (PostgreSQL manual, appendix A), when the server answered.
    public let sqlState: String?
    /// A description. May quote values when `kind` is `server`.
    public let message: String
    /// The name of the violated constraint, when one was violated.
    public let constraint: String?
    /// Whether the work may have been committed: it was sent, and its result is unknown. False: it was certainly not committed.
    public let mayHaveTakenEffect: Bool
    /// Why no connection could be opened, when that was the cause.
    public let connectionFailure: ConnectionFailure?
    /// The server has lost the prepared statement, or a change of the schema has outdated it: preparing it again helps.
    let isOutdatedStatement: Bool

    init(
        _ kind: Kind, _ message: String, sqlState: String? = nil, constraint: String? = nil, mayHaveTakenEffect: Bool = false,
        isOutdatedStatement: Bool = false, connectionFailure: ConnectionFailure? = nil
    ) {
        self.kind = kind
        self.sqlState = sqlState
        self.message = message
        self.constraint = constraint
        self.mayHaveTakenEffect = mayHaveTakenEffect
        self.isOutdatedStatement = isOutdatedStatement
        self.connectionFailure = connectionFailure
    }

    /// Whether the server ended the statement because it ran longer than `statement_timeout`, or was cancelled (57014).
    public var isStatementTimeout: Bool { sqlState == "57014" }

    /// Whether the statement waited for a lock longer than `lock_timeout` (55P03).
    public var isLockTimeout: Bool { sqlState == "55P03" }

    /// Whether the statement writes and the session only reads (25006), as all of a standby do.
    public var isReadOnlyTransaction: Bool { sqlState == "25006" }

    /// The same error with `mayHaveTakenEffect`, for work that was sent.
    var afterSending: PostgresError {
        PostgresError(kind, message, sqlState: sqlState, constraint: constraint, mayHaveTakenEffect: true)
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        var text = "\(kind)"
        if let sqlState { text += " \(sqlState)" }
        if let constraint { text += " on constraint \(constraint)" }
        if !messageMayQuoteValues { text += ": \(message)" }
        return text
    }

    public var debugDescription: String { description }

    /// False for our own errors, and for the classes of SQLSTATE whose messages name objects and states of the server, not data.
    private var messageMayQuoteValues: Bool {
        guard let sqlState else { return false }
        return !["08", "0A", "25", "26", "28", "3D", "42", "53", "55", "57", "58"].contains(String(sqlState.prefix(2)))
    }
}

extension PostgresError: CustomReflectable {
    /// Keeps `dump` and assertion failures from showing what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
