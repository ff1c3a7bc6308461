import HTTPTypes
import Hummingbird

/// Where a browser's request comes from.
extension Request {
    /// Whether the client is on this machine and reached the gateway without a proxy: `Host` is a loopback name and no proxy named the client.
    /// A page of another site that resolves to this machine (DNS rebinding) has another `Host`.
    public var isLocal: Bool {
        guard let host = head.authority, Self.isLoopback(host: host) else { return false }
        return !headers.contains { field in
            let name = field.name.canonicalName
            return name == "forwarded" || name.hasPrefix("x-forwarded-")
        }
    }

    /// Whether `Origin` is the page's own: the scheme is `https`, on loopback also `http`. `publicOrigin` counts, too: a proxy may have replaced
    /// `Host`. False without `Origin`.
    func isSameOrigin(publicOrigin: String?) -> Bool {
        guard let origin = headers[.origin]?.lowercased() else { return false }
        if let publicOrigin, origin == publicOrigin.lowercased() { return true }
        guard let host = head.authority?.lowercased() else { return false }
        return origin == "https://\(host)" || (isLocal && origin == "http://\(host)")
    }

    /// Whether a name of `Host`, with or without a port, is one of this machine alone (RFC 6761 §6.3).
    static func isLoopback(host: String) -> Bool {
        var name = host.lowercased()
        if name.hasPrefix("[") {
            return name == "[::1]" || name.hasPrefix("[::1]:")
        }
        if let colon = name.lastIndex(of: ":") { name = String(name[..<colon]) }
        return name == "localhost" || name.hasSuffix(".localhost") || name == "127.0.0.1"
    }
}
