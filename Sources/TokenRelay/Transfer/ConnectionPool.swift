import Reactor

/// Transfers with the same key may use the same connection.
struct ConnectionKey: Hashable {
    var origin: Origin
    var proxy: Proxy?
}

/// Connections that nobody uses at present. Belongs to the reactor's thread.
final class ConnectionPool: ConnectionUser {
    /// An older one may have been forgotten by something between us and the provider, which nobody would tell us. libcurl's default.
    private static let longestRest = Duration.seconds(118)
    /// A peer that names its limit may count from an earlier moment than we do, and what is sent shortly before it arrives after it.
    private static let margin = Duration.seconds(1)
    /// A short limit of a peer is kept by `take`; the sweep only gives back what nobody asks for.
    private static let sweepInterval = Duration.seconds(15)

    private let reactor: Reactor
    private let capacity: Int
    private var idle: [ConnectionKey: [ProviderConnection]] = [:]
    private var count = 0
    private var sweep: TimerHandle?

    /// - Parameter capacity: connections kept, over all hosts.
    init(reactor: Reactor, capacity: Int) {
        self.reactor = reactor
        self.capacity = capacity
    }

    /// The one that was used last, as it is the likeliest to be alive.
    func take(_ key: ConnectionKey) -> ProviderConnection? {
        guard let connection = idle[key]?.popLast() else { return nil }
        count -= 1
        if idle[key]?.isEmpty == true { idle[key] = nil }
        guard connection.idleUntil.map({ $0 > .now }) ?? false, connection.isStillOpen() else {
            connection.close()
            return take(key)
        }
        return connection
    }

    /// - Parameter limit: how long the peer keeps it, if it said so (`Keep-Alive: timeout`).
    func keep(_ connection: ProviderConnection, within limit: Duration? = nil) {
        let rest = Self.rest(within: limit)
        guard count < capacity, .zero < rest else { return connection.close() }
        connection.user = self
        connection.idleUntil = .now + rest
        idle[connection.key, default: []].append(connection)
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

    /// Nobody asked for anything.
    func received(_ bytes: UnsafeMutableRawBufferPointer, on connection: ProviderConnection) {
        forget(connection)
        connection.close()
    }

    func secured(_ connection: ProviderConnection) {}

    func ended(_ end: ConnectionEnd, on connection: ProviderConnection) { forget(connection) }

    private func forget(_ connection: ProviderConnection) {
        guard let index = idle[connection.key]?.firstIndex(where: { $0 === connection }) else { return }
        idle[connection.key]?.remove(at: index)
        count -= 1
        if idle[connection.key]?.isEmpty == true { idle[connection.key] = nil }
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
