import Reactor

/// Idle connections, by origin. Belongs to the reactor's thread.
final class ConnectionPool: ConnectionUser {
    /// A firewall on the way may silently forget a connection that is idle for longer. libcurl's default.
    private static let longestRest = Duration.seconds(118)
    /// A peer that names its limit may count from an earlier moment than we do, and what is sent shortly before it arrives after it.
    private static let margin = Duration.seconds(1)
    /// `take` keeps a peer's shorter limit; the sweep closes connections that are not taken again.
    private static let sweepInterval = Duration.seconds(15)

    private let reactor: Reactor
    private let capacity: Int
    private var idle: [Origin: [ProviderConnection]] = [:]
    private var count = 0
    private var sweep: TimerHandle?

    /// - Parameter capacity: connections kept, over all hosts.
    init(reactor: Reactor, capacity: Int) {
        self.reactor = reactor
        self.capacity = capacity
    }

    /// The one that was used last, as it is the likeliest to be alive.
    func take(_ origin: Origin) -> ProviderConnection? {
        guard let connection = idle[origin]?.popLast() else { return nil }
        count -= 1
        if idle[origin]?.isEmpty == true { idle[origin] = nil }
        guard connection.idleUntil.map({ $0 > .now }) ?? false, connection.isStillOpen() else {
            connection.close()
            return take(origin)
        }
        return connection
    }

    /// - Parameter limit: how long the peer keeps it (`Keep-Alive: timeout`); nil when it does not announce it.
    func keep(_ connection: ProviderConnection, within limit: Duration? = nil) {
        let rest = Self.rest(within: limit)
        guard count < capacity, .zero < rest else { return connection.close() }
        connection.user = self
        connection.idleUntil = .now + rest
        idle[connection.origin, default: []].append(connection)
        count += 1
        if sweep == nil { sweepLater() }
    }

    static func rest(within limit: Duration?) -> Duration {
        guard let limit else { return longestRest }
        return min(longestRest, max(limit - margin, limit / 2))
    }

    func close() {
        for connection in idle.values.joined() { connection.close() }
        idle = [:]
        count = 0
        sweep?.cancel()
    }

    /// Bytes that answer no request.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        forget(connection)
        connection.close()
    }

    func secured(_ connection: ProviderConnection) {}

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) { forget(connection) }

    private func forget(_ connection: ProviderConnection) {
        guard let index = idle[connection.origin]?.firstIndex(where: { $0 === connection }) else { return }
        idle[connection.origin]?.remove(at: index)
        count -= 1
        if idle[connection.origin]?.isEmpty == true { idle[connection.origin] = nil }
    }

    private func sweepLater() {
        sweep = reactor.schedule(after: Self.sweepInterval) { [self] in
            sweep = nil
            let now = Moment.now
            for connection in idle.values.joined() where connection.idleUntil.map({ $0 <= now }) ?? true {
                forget(connection)
                connection.close()
            }
            if count > 0 { sweepLater() }
        }
    }
}
