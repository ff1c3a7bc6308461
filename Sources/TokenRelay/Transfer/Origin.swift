/// Where requests go that may share a connection.
struct Origin: Hashable {
    var isSecure: Bool
    /// A name, or an address without brackets; in lower case.
    var host: String
    var port: UInt16
    /// PEM file of the only authorities to trust; nil: those of the system.
    var authorityFile: String?

    /// Whether it is this machine: never reached through a proxy. The zero address reaches this machine too.
    var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "0.0.0.0" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// As it stands in a `Host` field or behind `CONNECT`.
    func authority(withDefaultPort: Bool) -> String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) && !withDefaultPort ? name : "\(name):\(port)"
    }
}

/// An absolute `http` or `https` address (RFC 3986), taken apart. Pure.
struct TransferAddress: Equatable {
    var origin: Origin
    /// Path and query, at least `/`.
    var target: String
    /// `user:password` before the host, percent-encoded as written; only a proxy's address may have them.
    var credentials: String?

    /// nil: not such an address, or with something in it that does not belong there.
    init?(_ text: String, authorityFile: String? = nil) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let mark = text.firstRange(of: "://") else { return nil }
        let isSecure: Bool
        switch text[..<mark.lowerBound].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        default: return nil
        }
        let rest = text[mark.upperBound...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let path = rest[authority.endIndex...]
        target = path.isEmpty ? "/" : path.hasPrefix("?") ? "/" + path : String(path)
        var place = authority
        if let at = authority.lastIndex(of: "@") {
            credentials = String(authority[..<at])
            place = authority[authority.index(after: at)...]
        }
        guard let (host, port) = Self.split(place), !host.isEmpty else { return nil }
        guard let number = port.map({ UInt16($0) }) ?? (isSecure ? 443 : 80), number > 0 else { return nil }
        origin = Origin(isSecure: isSecure, host: host.lowercased(), port: number, authorityFile: authorityFile)
    }

    /// `name`, `name:port`, `[address]`, `[address]:port`; nil for anything else.
    static func split(_ place: Substring) -> (host: String, port: String?)? {
        var host = place
        var rest: Substring = ""
        if place.hasPrefix("[") {
            guard let end = place.firstIndex(of: "]") else { return nil }
            host = place[place.index(after: place.startIndex)..<end]
            rest = place[place.index(after: end)...]
        } else if let colon = place.firstIndex(of: ":") {
            host = place[..<colon]
            rest = place[colon...]
        }
        guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
        return (String(host), rest.count > 1 ? String(rest.dropFirst()) : nil)
    }
}
