/// The hosts of `no_proxy`, with curl's rules: `*` is every host; a name is that host and all below it, with or without a leading dot; an
/// address, or a network in CIDR form, is compared with hosts that are addresses, never with what a name resolves to. Ports are not
/// understood. Pure.
public struct NoProxyList: Sendable {
    private let exceptsLoopback: Bool
    private var exceptsAll = false
    private var names: [String] = []
    private var networks: [IPNetwork] = []

    /// - Parameters:
    ///   - text: entries separated by commas or spaces.
    ///   - exceptsLoopback: whether names and addresses of this machine are in the list, whatever `text` says.
    public init(_ text: String, exceptsLoopback: Bool = false) {
        self.exceptsLoopback = exceptsLoopback
        for entry in text.lowercased().split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if entry == "*" {
                exceptsAll = true
            } else if let network = IPNetwork(String(entry)) {
                networks.append(network)
            } else {
                let name = Self.withoutFinalDot(entry.hasPrefix(".") ? entry.dropFirst() : entry)
                if !name.isEmpty { names.append(String(name)) }
            }
        }
    }

    /// - Parameter host: in lower case; an address without brackets.
    func contains(_ host: String) -> Bool {
        if exceptsAll { return true }
        if let address = IPAddress(host) {
            return networks.contains { $0.contains(address) } || exceptsLoopback && address.isLoopback
        }
        let host = Self.withoutFinalDot(host[...])
        if exceptsLoopback, host == "localhost" || host.hasSuffix(".localhost") { return true }
        return names.contains { host == $0 || host.hasSuffix(".\($0)") }
    }

    private static func withoutFinalDot(_ name: Substring) -> Substring { name.hasSuffix(".") ? name.dropLast() : name }
}
