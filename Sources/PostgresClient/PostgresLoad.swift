/// What a pool does at one moment.
public struct PostgresLoad: Sendable {
    /// Open ones.
    public var connections: Int
    /// Those with a statement under way, or lent to a caller.
    public var connectionsInUse: Int
    /// Requests that wait for a connection.
    public var waitingRequests: Int
    /// How long the reading waited for the reactor's thread.
    public var reactorLag: Duration
}
