/// Addresses of providers.
enum BaseURL {
    /// The address without slashes at its end. One without a path, such as `http://127.0.0.1:11434`, gets `path`. nil when the text is no absolute http or
    /// https address with a host, or has a query or credentials.
    static func normalized(_ text: String, path defaultPath: String) -> String? {
        guard let scheme = text.firstRange(of: "://"), ["http", "https"].contains(text[..<scheme.lowerBound].lowercased()),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains(where: { "?#\\\"<>".contains($0) })
        else { return nil }
        let rest = text[scheme.upperBound...]
        let host = rest.prefix { $0 != "/" }
        // Credentials in an address would end up in logs.
        guard !host.isEmpty, !host.hasPrefix(":"), !host.contains("@") else { return nil }
        var path = rest[host.endIndex...]
        while path.hasSuffix("/") { path.removeLast() }
        return String(text[..<host.endIndex]) + (path.isEmpty ? defaultPath : String(path))
    }
}
