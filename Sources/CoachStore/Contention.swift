import PostgresClient

/// Runs `body` again while another transaction stands in its way. The function had no effect then.
///
/// Turn functions wait at most 100 ms for a lock, because others wait behind them on a shared connection. Whoever holds it is another
/// request of the same user and lets go at his commit, so a few attempts are plenty; the last error is thrown.
func repeatingContended<Value>(attempts: Int = 8, _ body: () async throws -> Value) async throws -> Value {
    for _ in 1..<attempts {
        do {
            return try await body()
        } catch let error as PostgresError where error.isContention {
            continue
        }
    }
    return try await body()
}

extension PostgresError {
    /// Lock not available, deadlock, serialization failure, or one of the unique indexes that back the checks of `begin_turn`.
    fileprivate var isContention: Bool {
        switch sqlState {
        case "55P03", "40P01", "40001": true
        case "23505": ["idx_turns_running", "idx_turns_idempotency_key"].contains(constraint)
        default: false
        }
    }
}
