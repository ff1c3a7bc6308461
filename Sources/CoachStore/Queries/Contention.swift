import PostgresClient

/// Retries `body` when it fails because of another transaction's lock or unique key; a failed attempt had no effect.
///
/// Turn functions wait at most 100 ms for a lock, because other batches wait behind them on the shared connection. The lock's holder is
/// another request of the same user and releases it at its commit, so a few attempts suffice. After the last one its error is thrown. The
/// pauses between attempts grow and have jitter, so that two gateways do not collide again.
/// - Parameter pause: suspends for a time between the bounds, in milliseconds.
func repeatingContended<Value>(
    attempts: Int = 8, pause: (ClosedRange<Int>) async throws -> Void = sleepRandomly(between:), _ body: () async throws -> Value
) async throws -> Value {
    for attempt in 1..<attempts {
        do {
            return try await body()
        } catch let error as PostgresError where error.isContention {
            try await pause(ContentionBackoff.pause(afterAttempt: attempt))
        }
    }
    return try await body()
}

/// The pauses of `repeatingContended`. Pure.
enum ContentionBackoff {
    /// The bounds of a pause in milliseconds: 5 to 10 after the first attempt, doubled each time up to 50 to 100.
    static func pause(afterAttempt attempt: Int) -> ClosedRange<Int> {
        let longest = min(10 << min(attempt - 1, 4), 100)
        return longest / 2...longest
    }
}

private func sleepRandomly(between milliseconds: ClosedRange<Int>) async throws {
    try await Task.sleep(for: .milliseconds(Int.random(in: milliseconds)))
}

extension PostgresError {
    /// Whether another transaction caused the error, also by one of the unique indexes that back the checks of `begin_turn`.
    var isContention: Bool {
        guard let sqlState else { return false }
        if sqlState == SQLState.uniqueViolation { return ["running_turns_pkey", "idx_turns_idempotency_key"].contains(constraint) }
        return SQLState.contention.contains(sqlState)
    }
}
