/// Port to the rollups of the ledger and of billing events, from which figures are read. `CoachStore` implements it on PostgreSQL.
public struct Rollups: Sendable {
    /// Folds what is booked and stored, and returns how far the figures of the ledger are behind; nil: not known yet. Any instance may do it; one does
    /// at a time. Throws `StoreFault`.
    public var fold: @Sendable () async throws -> Duration?
    /// How far the figures of the ledger are behind, without folding; nil: not known yet. Throws `StoreFault`.
    public var lag: @Sendable () async throws -> Duration?

    public init(fold: @escaping @Sendable () async throws -> Duration?, lag: @escaping @Sendable () async throws -> Duration?) {
        self.fold = fold
        self.lag = lag
    }
}
