/// Scheme, host and port (RFC 6454), and the authorities that are trusted: requests with equal origins may share a connection.
struct Origin: Hashable {
    var isSecure: Bool
    /// A name, or an address without brackets; in lower case.
    var host: String
    var port: UInt16
    /// PEM file of the certificate authorities to trust; nil: the system's.
    var authorityFile: String?

    /// The value of the `Host` field: without the scheme's default port.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}

/// A parsed absolute `http` or `https` URL (RFC 3986): the origin to connect to and the request target to send. Pure.
struct TransferURL: Equatable {
    var origin: Origin
    /// Path and query, at least `/`.
    var target: String

    /// Nil when the URL is malformed, has another scheme, credentials, or characters that are not allowed in a URL.
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
        guard !authority.contains("@"), let (host, port) = Self.split(authority), !host.isEmpty else { return nil }
        guard let number = port.map({ UInt16($0) }) ?? (isSecure ? 443 : 80), number > 0 else { return nil }
        origin = Origin(isSecure: isSecure, host: host.lowercased(), port: number, authorityFile: authorityFile)
    }

    /// `name`, `name:port`, `[address]`, `[address]:port`; nil for anything else.
    private static func split(_ authority: Substring) -> (host: String, port: String?)? {
        var host = authority
        var rest: Substring = ""
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end]
            rest = authority[authority.index(after: end)...]
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            rest = authority[colon...]
        }
        guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
        return (String(host), rest.count > 1 ? String(rest.dropFirst()) : nil)
    }
}
