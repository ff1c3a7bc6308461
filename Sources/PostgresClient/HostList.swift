import Reactor

/// The hosts of a connection string, in its order.
struct HostList: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        /// A name, an address or the directory of a Unix socket. TLS checks the certificate against it.
        var host: String
        /// The numeric address; nil: not yet looked up. Given no address, libpq would look the name up itself, and block.
        var address: String?
        var port: String

        /// Whether the name must be looked up: it is no address, nor a Unix socket (libpq's default when no host is named).
        var needsLookup: Bool { address == nil && !host.isEmpty && !host.hasPrefix("/") && !host.hasPrefix("@") }

        /// For messages: host and port of the connection string only.
        var label: String { (host.isEmpty ? address ?? "the local socket" : host) + (port.isEmpty ? "" : ":\(port)") }

        /// Whether the port is a number of one, or empty for libpq's default, and the host has no `@`, which only paths may have.
        fileprivate var isValid: Bool {
            guard port.isEmpty || UInt16(port).map({ $0 > 0 }) == true else { return false }
            return host.hasPrefix("/") || !host.dropFirst().contains("@")
        }
    }

    let entries: [Entry]

    /// From libpq's comma-separated lists. Nil when they do not fit together (PostgreSQL manual, 34.1.1.3): as many addresses as hosts, and
    /// one port for all or one for each. Nil also when they have parts of a password: of `postgres://user:ab/cd@host/db`, whose password is not
    /// percent-encoded, libpq takes `user` for the host and `ab` for its port.
    init?(hosts: String, addresses: String, ports: String) {
        func split(_ list: String) -> [String] {
            list.isEmpty ? [] : list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (split(hosts), split(addresses), split(ports))
        let count = max(hosts.count, addresses.count, 1)
        guard hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count, ports.count <= 1 || ports.count == count else {
            return nil
        }
        let entries = (0..<count).map { index in
            let host = index < hosts.count ? hosts[index] : ""
            let address = index < addresses.count ? addresses[index] : ""
            return Entry(
                host: host, address: address.isEmpty ? (NameLookup.isAddress(host) ? host : nil) : address,
                port: ports.count > 1 ? ports[index] : ports.first ?? "")
        }
        guard entries.allSatisfy(\.isValid) else { return nil }
        self.entries = entries
    }
}
