/// Hosts of this machine, which are never reached through a proxy.
enum LoopbackAddress {
    /// Whether an absolute URL names `localhost` (or a name below it), 127.0.0.0/8 or ::1. The zero address reaches this machine too.
    static func isHost(of url: String) -> Bool {
        guard let scheme = url.firstRange(of: "://") else { return false }
        var host = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let credentials = host.lastIndex(of: "@") { host = host[host.index(after: credentials)...] }
        if host.hasPrefix("[") { return host.hasPrefix("[::1]") }
        host = host.prefix { $0 != ":" }
        let name = host.lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") || name == "0.0.0.0" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
