import CoachCore
import PostgresClient

extension PostgresClient {
    /// Runs a statement that calls a function of schema `operator`, and retries it on contention with other transactions. Throws
    /// `NotAllowed` when the caller is not an operator, `StoreFault`, and `PostgresError` for the given SQLSTATEs.
    func operatorQuery<Value: Sendable>(
        _ query: Query, for caller: Caller, except sqlStates: Set<String> = [],
        decode: @escaping @Sendable (borrowing Rows) throws -> Value
    ) async throws -> Value {
        try await asOperator(except: sqlStates) {
            try await batch([Claims.gateway(for: caller), query], affinity: caller.userID.affinity, decode: decode)
        }
    }

    /// Runs statements of which one calls a function of schema `operator`, with the same errors and retries as `operatorQuery`.
    func asOperator<Value>(except sqlStates: Set<String> = [], _ statements: () async throws -> Value) async throws -> Value {
        do {
            return try await StoreFault.translating(except: sqlStates.union([SQLState.insufficientPrivilege])) {
                try await repeatingContended { try await statements() }
            }
        } catch let error as PostgresError where error.sqlState == SQLState.insufficientPrivilege {
            throw NotAllowed()
        }
    }
}
