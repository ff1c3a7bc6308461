import CoachCore
import PostgresClient

extension PostgresError {
    /// Whether the error means that the token's user was removed: there is a tombstone, or, on Supabase, no row in `auth.users`.
    var isOfRemovedUser: Bool { constraint == "users_removed" || constraint == "users_id_fkey" }
}

extension StoreFault {
    /// Maps a database error to the error of a port: `unavailable` when the server refuses, hangs, is overloaded or shuts down; otherwise
    /// `unexpected`. Both have a description without user data.
    init(_ error: PostgresError) {
        switch error.kind {
        case .unavailable, .deadline, .poolExhausted, .cancelled:
            self = .unavailable(retryAfter: 1, reason: error.description)
        case .server where error.isStatementTimeout || error.isContention || Self.isServerTrouble(error):
            self = .unavailable(retryAfter: 1, reason: error.description)
        case .server, .protocolViolation:
            self = .unexpected(error.description)
        }
    }

    /// Classes of SQLSTATE (PostgreSQL manual, appendix A): 08 connection, 53 resources, 57 operator intervention (shutdown), 58 system
    /// (a full disk), and 25006, a server that only reads: the standby of a switch-over.
    private static func isServerTrouble(_ error: PostgresError) -> Bool {
        error.isReadOnlyTransaction || SQLState.serverTrouble.contains(String((error.sqlState ?? "").prefix(2)))
    }

    /// Runs `body` and maps `PostgresError` to `StoreFault`, except for the SQLSTATEs that the caller handles. A cancelled caller gets
    /// `CancellationError`.
    static func translating<Value>(except sqlStates: Set<String> = [], _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PostgresError {
            if error.kind == .cancelled { throw CancellationError() }
            if let sqlState = error.sqlState, sqlStates.contains(sqlState) { throw error }
            throw StoreFault(error)
        }
    }
}
