import Reactor

/// The idle connections of the direct driver, by origin. It closes them after their idle time and when the peer sends something. Use only
/// on the reactor's thread.
final class ConnectionPool: ConnectionUser {
    /// The longest idle time (libcurl's default): a firewall may silently drop a connection that is idle for longer.
    private static let longestIdleTime = Duration.seconds(118)
    /// Subtracted from a peer's own limit, because the peer counts from an earlier moment, and a request needs time to arrive.
    private static let margin = Duration.seconds(1)
    /// How often expired connections are closed. `take` checks the idle time too.
    private static let sweepInterval = Duration.seconds(15)

    private struct IdleConnection {
        let connection: ProviderConnection
        /// When it must be closed.
        let expiry: MonotonicInstant
    }

    private let reactor: Reactor
    private let capacity: Int
    private var idle: [Origin: [IdleConnection]] = [:]
    private var count = 0
    private var sweep: TimerHandle?

    /// - Parameter capacity: the most idle connections, over all origins.
    init(reactor: Reactor, capacity: Int) {
        self.reactor = reactor
        self.capacity = capacity
    }

    /// Removes and returns an open connection; nil when there is none. The most recently used first, because the peer is least likely to
    /// have closed it.
    func take(_ origin: Origin) -> ProviderConnection? {
        guard let newest = idle[origin]?.popLast() else { return nil }
        count -= 1
        if idle[origin]?.isEmpty == true { idle[origin] = nil }
        guard newest.expiry > .now, newest.connection.isStillOpen() else {
            newest.connection.close()
            return take(origin)
        }
        return newest.connection
    }

    /// Adds an idle connection; closes it when the pool is full.
    /// - Parameter limit: how long the peer keeps it open (`Keep-Alive: timeout`); nil when the peer does not announce it.
    func keep(_ connection: ProviderConnection, within limit: Duration? = nil) {
        let rest = Self.rest(within: limit)
        guard count < capacity, .zero < rest else { return connection.close() }
        connection.user = self
        idle[connection.origin, default: []].append(IdleConnection(connection: connection, expiry: .now + rest))
        count += 1
        if sweep == nil { sweepLater() }
    }

    /// How long a connection may be idle, by the peer's limit.
    static func rest(within limit: Duration?) -> Duration {
        guard let limit else { return longestIdleTime }
        return min(longestIdleTime, max(limit - margin, limit / 2))
    }

    func close() {
        for entry in idle.values.joined() { entry.connection.close() }
        idle = [:]
        count = 0
        sweep?.cancel()
    }

    /// Bytes without a request break the protocol: closes the connection.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        forget(connection)
        connection.close()
    }

    func secured(_ connection: ProviderConnection) {}

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) { forget(connection) }

    private func forget(_ connection: ProviderConnection) {
        guard let index = idle[connection.origin]?.firstIndex(where: { $0.connection === connection }) else { return }
        idle[connection.origin]?.remove(at: index)
        count -= 1
        if idle[connection.origin]?.isEmpty == true { idle[connection.origin] = nil }
    }

    private func sweepLater() {
        sweep = reactor.schedule(after: Self.sweepInterval) { [self] in
            sweep = nil
            let now = MonotonicInstant.now
            for entry in idle.values.joined() where entry.expiry <= now {
                forget(entry.connection)
                entry.connection.close()
            }
            if count > 0 { sweepLater() }
        }
    }
}
