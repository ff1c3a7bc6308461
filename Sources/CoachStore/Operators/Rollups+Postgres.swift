import CoachCore
import PostgresClient

extension Rollups {
    /// Ledger rows that one statement folds at most, unless one transaction booked more: about 10 ms of a processor, for which turns may wait.
    private static let rowsAtOnce = 500
    /// Figures of billing events that one statement folds at most: some 25 ms, because it computes their purchases from all their events.
    private static let billingFiguresAtOnce = 100

    /// Seconds; NULL: not known yet.
    private static let behind: Query = "extract(epoch from clock_timestamp() - gateway.figures_as_of())::double precision"

    /// Rollups in PostgreSQL.
    public static func postgres(client: PostgresClient) -> Rollups {
        Rollups(
            fold: {
                let lag = try await client.repeatingWhileMore(
                    "gateway.fold_rollups(\(rowsAtOnce)::integer) > \(rowsAtOnce)::integer", returning: behind)
                _ = try await client.repeatingWhileMore(
                    "gateway.fold_subscription_figures(\(billingFiguresAtOnce)::integer) = \(billingFiguresAtOnce)::integer",
                    returning: "null::double precision")
                return lag.map { .seconds($0) }
            },
            lag: {
                let lag = try await StoreFault.translating { try await client.value(of: "select \(behind)", as: Double?.self) }
                return lag.map { .seconds($0) }
            })
    }
}

/// The longest time of one statement.
private let timeLimit = Duration.seconds(60)

extension PostgresClient {
    /// Repeats a statement while `isMoreToFold`, which is NULL when another instance folds, and returns the last value of `result`. On a connection of its
    /// own: others wait behind a statement on a shared one.
    fileprivate func repeatingWhileMore(_ isMoreToFold: Query, returning result: Query) async throws -> Double? {
        var statement: Query = "select "
        statement.append(isMoreToFold)
        statement.append(", ")
        statement.append(result)
        let fold = statement
        var last: Double?
        var isMore = true
        while isMore {
            let started = ContinuousClock.now
            (last, isMore) = try await StoreFault.translating {
                try await withConnection { lease in
                    let limit: Query = "select set_config('statement_timeout', \("\(Int(timeLimit / .seconds(1)))s"), true)"
                    return try await lease.batch([limit, fold], deadline: timeLimit) { rows in
                        try rows.only { row -> (Double?, Bool) in
                            (try row.value(1, as: Double?.self), try row.value(0, as: Bool?.self) ?? false)
                        }
                    }
                }
            }
            // Turns get at least half of the processor meanwhile.
            if isMore { try await Task.sleep(for: .now - started) }
        }
        return last
    }
}
