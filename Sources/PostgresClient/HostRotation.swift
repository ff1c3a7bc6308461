/// The order in which the hosts of a connection string are tried. Pure; shared by all connections of a pool, so that they reach the same
/// server.
///
/// A round of attempts starts with the host that last accepted a connection. After a failed round the next one starts one host later, so
/// that a host that drops packets does not use up the beginning of every round.
struct HostRotation: Equatable {
    /// The index of the host with which the next round starts. A connection passes the value of its own round to
    /// `failed(roundFrom:hosts:)`.
    private(set) var first = 0
    private var failedRounds = 0
    private var lastGood: HostList.Entry?

    /// The targets of the next round, in the order in which to try them.
    func targets(of list: HostList, preferringStandby: Bool) -> [ConnectionTarget] {
        let count = list.entries.count
        let round = (0..<count).map { ConnectionTarget(host: ($0 + first) % count, entry: list.entries[($0 + first) % count]) }
        guard preferringStandby else { return round }
        // libpq's two passes of `prefer-standby` (PostgreSQL manual, 34.1.2), over all hosts instead of each one.
        return ["standby", "any"].flatMap { session in
            round.map { ConnectionTarget(host: $0.host, entry: $0.entry, session: session) }
        }
    }

    /// The addresses of one host in the order in which to try them: first the one that last accepted a connection; after failed rounds,
    /// rotated.
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

    /// A round failed. When several connections that started together fail, only the first call moves the start.
    mutating func failed(roundFrom start: Int, hosts: Int) {
        guard start == first else { return }
        first = (first + 1) % max(hosts, 1)
        failedRounds += 1
        lastGood = nil
    }
}

/// The rotation that the connections of a pool share. Use only on the reactor's thread.
final class SharedHostRotation {
    var rotation = HostRotation()
}

/// One host, or one of its addresses, to be tried in a round.
struct ConnectionTarget: Equatable, Sendable {
    /// The index of the host in the connection string.
    var host: Int
    var entry: HostList.Entry
    /// Replaces the connection string's `target_session_attrs`; nil: that one applies.
    var session: String?
}
