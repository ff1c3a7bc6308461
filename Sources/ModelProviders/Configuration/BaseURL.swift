/// Addresses of providers.
enum BaseURL {
    /// The address without slashes at its end. One without a path, such as `http://127.0.0.1:11434`, gets `path`. Scheme and host are in lower case, and the
    /// scheme's default port is left out (RFC 3986 §6.2), so that every driver sends the `Host` that a request signs. nil when the text is no absolute http
    /// or https address with a host, or has a query or credentials.
    static func normalized(_ text: String, path defaultPath: String) -> String? {
        guard let mark = text.firstRange(of: "://"), let defaultPort = defaultPorts[text[..<mark.lowerBound].lowercased()],
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains(where: { "?#\\\"<>".contains($0) })
        else { return nil }
        let rest = text[mark.upperBound...]
        let host = rest.prefix { $0 != "/" }
        // Credentials in an address would end up in logs.
        guard !host.isEmpty, !host.hasPrefix(":"), !host.contains("@") else { return nil }
        var path = rest[host.endIndex...]
        while path.hasSuffix("/") { path.removeLast() }
        var origin = text[..<host.endIndex].lowercased()
        for port in [":\(defaultPort)", ":"] where origin.hasSuffix(port) { origin.removeLast(port.count) }
        return origin + (path.isEmpty ? defaultPath : String(path))
    }

    private static let defaultPorts = ["http": 80, "https": 443]
}
