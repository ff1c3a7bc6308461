/// The list of hosts that are reached without a proxy, as `no_proxy` has it. `*` matches every host. A name matches that host and its
/// subdomains, with or without a leading dot or `*.`. An address or a network in CIDR form matches hosts that are written as addresses,
/// never the addresses of a name. A name or an address may have a port; an IPv6 address is then in brackets. Ports, `*.` and IPv6 networks
/// are extensions of curl's rules. Pure.
public struct NoProxyList: Sendable {
    /// The hosts that an entry matches.
    fileprivate enum Host {
        case all
        case name(String)
        case network(IPNetwork)
    }

    /// One element of the list; nil port: every port.
    fileprivate struct Entry {
        var host: Host
        var port: Int?
    }

    private let exceptsLoopback: Bool
    private var entries: [Entry] = []
    /// The first entry that cannot be parsed. `ProxyRules` makes it an error, because it is unknown which hosts were meant.
    private(set) var malformedEntry: String?

    /// - Parameters:
    ///   - text: entries separated by commas or spaces.
    ///   - exceptsLoopback: whether `localhost` and loopback addresses match, whatever `text` is.
    public init(_ text: String, exceptsLoopback: Bool = false) {
        self.exceptsLoopback = exceptsLoopback
        for text in text.lowercased().split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if let entry = Entry(text) { entries.append(entry) } else { malformedEntry = malformedEntry ?? String(text) }
        }
    }

    /// - Parameter host: in lower case; an address without brackets.
    func contains(_ host: String, port: Int) -> Bool {
        let address = IPAddress(host)
        let name = address == nil ? Self.withoutFinalDot(host[...]) : ""
        if exceptsLoopback, address?.isLoopback ?? (name == "localhost" || name.hasSuffix(".localhost")) { return true }
        return entries.contains { entry in
            guard entry.port == nil || entry.port == port else { return false }
            switch entry.host {
            case .all: return true
            case .name(let suffix): return name == suffix || name.hasSuffix(".\(suffix)")
            case .network(let network): return address.map(network.contains) ?? false
            }
        }
    }

    fileprivate static func withoutFinalDot(_ name: Substring) -> Substring { name.hasSuffix(".") ? name.dropLast() : name }
}

extension NoProxyList.Entry {
    /// - Parameter text: in lower case. Nil when it is malformed.
    fileprivate init?(_ text: Substring) {
        if text == "*" {
            self.init(host: .all)
        } else if let network = IPNetwork(String(text)) {
            self.init(host: .network(network))
        } else {
            guard let (host, port) = Self.split(text) else { return nil }
            if let address = IPAddress(String(host)) {
                self.init(host: .network(IPNetwork(address, bits: address.bytes.count * 8)), port: port)
            } else {
                let name = NoProxyList.withoutFinalDot(
                    host.hasPrefix("*.") ? host.dropFirst(2) : host.hasPrefix(".") ? host.dropFirst() : host)
                guard !name.isEmpty, name.utf8.allSatisfy(Self.isNameByte) else { return nil }
                self.init(host: .name(String(name)), port: port)
            }
        }
    }

    /// `host`, `host:port`, `[address]`, `[address]:port`.
    private static func split(_ text: Substring) -> (host: Substring, port: Int?)? {
        var host = text
        var rest: Substring = ""
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[text.index(after: end)...]
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            rest = text[colon...]
        }
        if rest.isEmpty { return (host, nil) }
        guard rest.hasPrefix(":"), let port = Int(rest.dropFirst()), (1...65535).contains(port) else { return nil }
        return (host, port)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._".utf8.contains(byte)
        }
    }
}
