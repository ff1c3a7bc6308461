import Foundation

/// Port to what an operator's stream of events tells. `CoachStore` implements it on PostgreSQL.
public struct LiveFigures: Sendable {
    /// Throws `StoreFault`.
    public var state: @Sendable () async throws -> FigureState
    /// Throws `NotAllowed` when the caller is not an operator or is suspended, and `StoreFault`.
    public var authorize: @Sendable (Caller) async throws -> Void

    public init(
        state: @escaping @Sendable () async throws -> FigureState, authorize: @escaping @Sendable (Caller) async throws -> Void
    ) {
        self.state = state
        self.authorize = authorize
    }
}

/// How new figures and alerts are.
public struct FigureState: Sendable, Hashable {
    /// As in `FigureTable`.
    public var asOf: Date?
    /// When an alert began or was resolved last; nil: there was none.
    public var alertsChangedAt: Date?

    public init(asOf: Date?, alertsChangedAt: Date?) {
        self.asOf = asOf
        self.alertsChangedAt = alertsChangedAt
    }
}
