import Reactor

/// The hosts of a connection, in the three parallel lists that libpq takes.
struct HostList: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        /// A name, an address or the directory of a Unix socket. TLS checks the certificate against it.
        var host: String
        /// Nil: not looked up. libpq would look it up itself, and block.
        var address: String?
        var port: String
    }

    var entries: [Entry]

    /// From libpq's comma-separated lists; one port may stand for all hosts.
    init(hosts: String, addresses: String, ports: String) {
        func split(_ list: String) -> [String] {
            list.isEmpty ? [] : list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (split(hosts), split(addresses), split(ports))
        entries = (0..<max(hosts.count, addresses.count, 1)).map { index in
            let address = index < addresses.count ? addresses[index] : ""
            return Entry(
                host: index < hosts.count ? hosts[index] : "",
                address: address.isEmpty ? nil : address,
                port: ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : "")
        }
    }

    private init(entries: [Entry]) {
        self.entries = entries
    }

    /// Whether an entry must be looked up: not an address yet, nor a Unix socket (libpq's default when no host is named).
    static func needsLookup(_ entry: Entry) -> Bool {
        entry.address == nil && !entry.host.isEmpty && !entry.host.hasPrefix("/") && !entry.host.hasPrefix("@")
    }

    var needsLookup: Bool { entries.contains(where: Self.needsLookup) }

    /// The list with one entry for every address of every host. Blocks: helper threads only. Nil when no host has one.
    func resolved() -> HostList? {
        let found = entries.flatMap { entry in
            Self.needsLookup(entry)
                ? NameLookup.addresses(of: entry.host).found.map { Entry(host: entry.host, address: $0, port: entry.port) } : [entry]
        }
        return found.isEmpty ? nil : HostList(entries: found)
    }

    var hosts: String { entries.map(\.host).joined(separator: ",") }
    var addresses: String { entries.map { $0.address ?? "" }.joined(separator: ",") }
    var ports: String { entries.map(\.port).joined(separator: ",") }
}
