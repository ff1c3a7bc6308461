import CoachCore
import PostgresClient

/// Keeps the rollups of the ledger and of billing events up to date. Any instance may do it; one does at a time.
public struct Rollups: Sendable {
    /// Ledger rows that one statement folds at most, unless one transaction booked more: about 10 ms of a processor, for which turns may wait.
    private static let rowsAtOnce = 500
    /// Figures of billing events that one statement folds at most: some 25 ms, because it computes their purchases from all their events.
    private static let billingFiguresAtOnce = 100
    private static let timeLimit = Duration.seconds(60)

    private let client: PostgresClient

    public init(client: PostgresClient) { self.client = client }

    /// Folds what is booked and stored, and returns how far the figures of the ledger are behind; nil: not known yet. Throws `StoreFault`.
    @discardableResult
    public func fold() async throws -> Duration? {
        let behind: Query = "extract(epoch from clock_timestamp() - gateway.figures_as_of())::double precision"
        let lag = try await repeatingWhileMore(
            "gateway.fold_rollups(\(Self.rowsAtOnce)::integer) > \(Self.rowsAtOnce)::integer", returning: behind)
        _ = try await repeatingWhileMore(
            "gateway.fold_subscription_figures(\(Self.billingFiguresAtOnce)::integer) = \(Self.billingFiguresAtOnce)::integer",
            returning: "null::double precision")
        return lag.map { .seconds($0) }
    }

    /// Repeats a statement while `isMoreToFold`, which is NULL when another instance folds, and returns the last value of `result`. On a connection of its
    /// own: others wait behind a statement on a shared one.
    private func repeatingWhileMore(_ isMoreToFold: Query, returning result: Query) async throws -> Double? {
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
                try await client.withConnection { lease in
                    let limit: Query = "select set_config('statement_timeout', \("\(Int(Self.timeLimit / .seconds(1)))s"), true)"
                    return try await lease.batch([limit, fold], deadline: Self.timeLimit) { rows in
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
