import PostgresClient

/// Runs `body` again while another transaction stands in its way. The function had no effect then.
///
/// Turn functions wait at most 100 ms for a lock, because others wait behind them on a shared connection. Whoever holds it is another
/// request of the same user and lets go at its commit, so a few attempts are plenty; the last error is thrown. Before each further attempt the
/// connection is left to others for a while, longer each time and by chance, so that two gateways that met do not meet again.
/// - Parameter pause: suspends; given the bounds in milliseconds.
func repeatingContended<Value>(
    attempts: Int = 8, pause: (ClosedRange<Int>) async throws -> Void = sleepSomewhere(between:), _ body: () async throws -> Value
) async throws -> Value {
    for attempt in 1..<attempts {
        do {
            return try await body()
        } catch let error as PostgresError where error.isContention {
            try await pause(Contention.pause(afterAttempt: attempt))
        }
    }
    return try await body()
}

enum Contention {
    /// Up to 10 ms after the first attempt, then twice as many each time, at most 100; half of it is certain.
    static func pause(afterAttempt attempt: Int) -> ClosedRange<Int> {
        let longest = min(10 << min(attempt - 1, 4), 100)
        return longest / 2...longest
    }
}

private func sleepSomewhere(between milliseconds: ClosedRange<Int>) async throws {
    try await Task.sleep(for: .milliseconds(Int.random(in: milliseconds)))
}

extension PostgresError {
    /// Lock not available, deadlock, serialization failure, or one of the unique indexes that back the checks of `begin_turn`.
    var isContention: Bool {
        switch sqlState {
        case "55P03", "40P01", "40001": true
        case "23505": ["running_turns_pkey", "idx_turns_idempotency_key"].contains(constraint)
        default: false
        }
    }
}
