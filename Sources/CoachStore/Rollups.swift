import CoachCore
import PostgresClient

/// Keeps the rollups of the ledger up to date. Any instance may do it; one does at a time.
public struct Rollups: Sendable {
    /// Ledger rows that one statement folds at most, unless one transaction booked more: about 10 ms of a processor, for which turns may wait.
    private static let rowsAtOnce = 500
    private static let timeLimit = Duration.seconds(60)

    private let client: PostgresClient

    public init(client: PostgresClient) { self.client = client }

    /// Folds what is booked, and returns how far the figures are behind; nil: not known yet. On a connection of its own: others wait behind a statement
    /// on a shared one. Throws `StoreFault`.
    @discardableResult
    public func fold() async throws -> Duration? {
        var lag: Double?
        var isMore = true
        while isMore {
            let started = ContinuousClock.now
            (lag, isMore) = try await StoreFault.translating {
                try await client.withConnection { lease in
                    let limit: Query = "select set_config('statement_timeout', \("\(Int(Self.timeLimit / .seconds(1)))s"), true)"
                    let fold: Query = """
                        select gateway.fold_rollups(\(Self.rowsAtOnce)::integer), \
                        extract(epoch from clock_timestamp() - gateway.figures_as_of())::double precision
                        """
                    return try await lease.batch([limit, fold], deadline: Self.timeLimit) { rows in
                        try rows.only { row -> (Double?, Bool) in
                            let folded = try row.value(0, as: Int?.self) ?? 0
                            return (try row.value(1, as: Double?.self), folded > Self.rowsAtOnce)
                        }
                    }
                }
            }
            // Turns get at least half of the processor meanwhile.
            if isMore { try await Task.sleep(for: .now - started) }
        }
        return lag.map { .seconds($0) }
    }
}
