import HTTPTypes

/// The addresses that proxies report in `Forwarded` (RFC 7239 §4) or `X-Forwarded-For`, the nearest last.
enum ForwardedFor {
    /// The hops of a request. Nil for a hop that is not an address: `unknown`, an obfuscated name, or a syntax error. If both fields are
    /// present the result is one nil, because the client may have sent one of them.
    static func hops(_ headers: HTTPFields) -> [NetworkAddress?] {
        let standard = headers[values: .forwarded]
        guard standard.isEmpty || headers[values: .forwardedFor].isEmpty else { return [nil] }
        if !standard.isEmpty { return standard.flatMap { elements($0) }.map { $0.flatMap(address) } }
        return headers[values: .forwardedFor].flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.map {
            address($0[...])
        }
    }

    /// The `for` parameter of each element; nil where it is missing.
    private static func elements(_ value: String) -> [Substring?] {
        split(value[...], at: ",").map { element in
            split(element, at: ";").compactMap { pair -> Substring? in
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, parts[0].withoutOptionalWhitespace.lowercased() == "for" else { return nil }
                return parts[1]
            }.first
        }
    }

    /// Splits outside of quoted strings.
    private static func split(_ text: Substring, at separator: Character) -> [Substring] {
        var isQuoted = false
        var pieces: [Substring] = []
        var start = text.startIndex
        for index in text.indices {
            if text[index] == "\"" { isQuoted.toggle() }
            guard text[index] == separator, !isQuoted else { continue }
            pieces.append(text[start..<index])
            start = text.index(after: index)
        }
        return pieces + [text[start...]]
    }

    /// An address with an optional port; IPv6 in brackets when it has one.
    private static func address(_ text: Substring) -> NetworkAddress? {
        var text = text.withoutOptionalWhitespace
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
        if text.hasPrefix("[") { return text.firstIndex(of: "]").flatMap { NetworkAddress(text[..<$0].dropFirst()) } }
        if let address = NetworkAddress(text) { return address }
        return text.firstIndex(of: ":").flatMap { NetworkAddress(text[..<$0]) }
    }
}

extension HTTPField.Name {
    fileprivate static let forwarded = Self("Forwarded")!
    fileprivate static let forwardedFor = Self("X-Forwarded-For")!
}
