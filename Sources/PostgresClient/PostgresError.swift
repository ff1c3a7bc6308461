/// What went wrong with a request to the database.
///
/// `description` names kind, code and constraint, and the server's message only where that message speaks of schema or server, never of
/// data: it may be logged. `message`, `detail` and `hint` are the server's own words and can quote values; do not log them.
public struct PostgresError: Error, Sendable, Hashable {
    /// The kinds of failure a caller tells apart.
    public enum Kind: Sendable, Hashable {
        /// No connection, or the connection was lost.
        case unavailable
        /// The answer did not come within the caller's deadline.
        case deadline
        /// The caller's task was cancelled.
        case cancelled
        /// The server refused the statement; `sqlState` says why.
        case server
        /// As many callers as allowed are waiting already.
        case poolExhausted
        /// The driver was used in a way it does not allow, the server said something unexpected, or a result has another shape than asked for.
        case protocolViolation
    }

    /// What kind of failure this is.
    public let kind: Kind
    /// The server's five-character code (PostgreSQL manual, appendix A), when the server answered.
    public let sqlState: String?
    /// What happened, in words. May quote values when `kind` is `server`.
    public let message: String
    /// The server's explanation. May quote values.
    public let detail: String?
    /// The server's advice.
    public let hint: String?
    /// The name of the violated constraint, when one was violated.
    public let constraint: String?
    /// Whether the work may have been committed all the same: it was sent, and no answer came. False means that it surely was not.
    public let mayHaveTakenEffect: Bool
    /// Why there is no connection, when none could be made.
    public let connectionFailure: ConnectionFailure?
    /// The server has lost the prepared statement, or a change of the schema has outdated it: preparing it again helps.
    let isOutdatedStatement: Bool

    init(
        _ kind: Kind, _ message: String, sqlState: String? = nil, detail: String? = nil, hint: String? = nil, constraint: String? = nil,
        mayHaveTakenEffect: Bool = false, isOutdatedStatement: Bool = false, connectionFailure: ConnectionFailure? = nil
    ) {
        self.kind = kind
        self.sqlState = sqlState
        self.message = message
        self.detail = detail
        self.hint = hint
        self.constraint = constraint
        self.mayHaveTakenEffect = mayHaveTakenEffect
        self.isOutdatedStatement = isOutdatedStatement
        self.connectionFailure = connectionFailure
    }

    /// Whether the server ended the statement because it ran longer than `statement_timeout`, or was cancelled (57014).
    public var isStatementTimeout: Bool { sqlState == "57014" }

    /// Whether the statement waited for a lock longer than `lock_timeout` (55P03).
    public var isLockTimeout: Bool { sqlState == "55P03" }

    /// The same failure of work that had been sent.
    var afterSending: PostgresError {
        PostgresError(
            kind, message, sqlState: sqlState, detail: detail, hint: hint, constraint: constraint, mayHaveTakenEffect: true)
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

    /// Classes of SQLSTATE whose messages name objects and states of the server, not data.
    private var messageMayQuoteValues: Bool {
        guard let sqlState else { return false }
        return !["08", "0A", "25", "26", "28", "3D", "42", "53", "55", "57", "58"].contains(String(sqlState.prefix(2)))
    }
}

extension PostgresError: CustomReflectable {
    /// Keeps `dump` and assertion failures from showing what `description` hides.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
