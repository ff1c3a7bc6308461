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
    private static let sweepInterval = Duration.seconds(30)

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
        guard connection.idleSince.map({ $0 + Self.longestRest > .now }) ?? false else {
            connection.close()
            return take(key)
        }
        return connection
    }

    func keep(_ connection: ProviderConnection) {
        guard count < capacity else { return connection.close() }
        connection.user = self
        connection.idleSince = .now
        idle[connection.key, default: []].append(connection)
        count += 1
        if sweep == nil { sweepLater() }
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
            let limit = ContinuousClock.now - Self.longestRest
            for connection in idle.values.joined() where connection.idleSince.map({ $0 < limit }) ?? true {
                forget(connection)
                connection.close()
            }
            if count > 0 { sweepLater() }
        }
    }
}
