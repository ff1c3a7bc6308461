/// Chooses the first of several hosts for the next connection. Pure; shared by all connections of a pool, so that they reach the same server.
///
/// It begins with the host that answered last. After a failed round it begins one further, so that a host that swallows packets does not take
/// the first and longest part of every round.
struct HostRotation: Equatable {
    /// The start of a round; to be given back when the round fails.
    private(set) var first = 0
    private var failedRounds = 0
    private var lastGood: HostList.Entry?

    /// The targets of one round over a list.
    func targets(of list: HostList, preferringStandby: Bool) -> [ConnectionTarget] {
        let count = list.entries.count
        let round = (0..<count).map { ConnectionTarget(host: ($0 + first) % count, entry: list.entries[($0 + first) % count]) }
        guard preferringStandby else { return round }
        // libpq's two passes of `prefer-standby` (PostgreSQL manual, 34.1.2), over all hosts instead of each one.
        return ["standby", "any"].flatMap { session in
            round.map { ConnectionTarget(host: $0.host, entry: $0.entry, session: session) }
        }
    }

    /// The addresses of one host in the order in which they are tried.
    func order(_ addresses: [String], of entry: HostList.Entry) -> [String] {
        if let good = lastGood, good.host == entry.host, good.port == entry.port, let address = good.address, addresses.contains(address) {
            return [address] + addresses.filter { $0 != address }
        }
        guard !addresses.isEmpty else { return [] }
        let start = failedRounds % addresses.count
        return Array(addresses[start...] + addresses[..<start])
    }

    mutating func succeeded(_ target: ConnectionTarget) {
        first = target.host
        failedRounds = 0
        lastGood = target.entry
    }

    /// Connections that were opened together fail together: only the first of them moves the start.
    mutating func failed(roundFrom start: Int, hosts: Int) {
        guard start == first else { return }
        first = (first + 1) % max(hosts, 1)
        failedRounds += 1
        lastGood = nil
    }
}

/// The rotation that the connections of a pool share. Touched on the reactor's thread only.
final class SharedHostRotation {
    var rotation = HostRotation()
}

/// One address to be tried.
struct ConnectionTarget: Equatable, Sendable {
    /// Its place in the connection string.
    var host: Int
    var entry: HostList.Entry
    /// Required of the server instead of the connection string's `target_session_attrs`.
    var session: String?
}
