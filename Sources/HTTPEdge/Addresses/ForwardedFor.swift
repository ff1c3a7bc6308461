import HTTPTypes

/// The addresses that proxies report in `Forwarded` (RFC 7239 §4) or `X-Forwarded-For`, the nearest first. Nil for a hop that is not an
/// address: `unknown`, an obfuscated name, or a syntax error.
///
/// Parses one hop for each call of `next`, from the end of the header, because the client can write thousands before those of the proxies.
struct ForwardedFor: IteratorProtocol {
    private let isStandard: Bool
    /// The part of each field that is not parsed yet.
    private var values: [Substring]

    /// The hops of a request. If both fields are present there is one hop, which is nil, because the client may have sent one of the fields.
    init(_ headers: HTTPFields) {
        let standard = headers[values: .forwarded]
        let plain = headers[values: .forwardedFor]
        isStandard = !standard.isEmpty
        values = standard.isEmpty || plain.isEmpty ? (standard + plain).map { $0[...] } : [""]
    }

    mutating func next() -> NetworkAddress?? {
        guard let value = values.popLast() else { return nil }
        let comma = Self.lastIndex(of: UInt8(ascii: ","), in: value, ignoresQuoted: isStandard)
        if let comma { values.append(value[..<comma]) }
        let hop = comma.map { value[value.utf8.index(after: $0)...] } ?? value
        let text = isStandard ? Self.parameter(of: hop) : hop
        return .some(text.flatMap(Self.address))
    }

    /// The `for` parameter of an element of `Forwarded`; nil where it is missing.
    private static func parameter(of element: Substring) -> Substring? {
        var rest: Substring? = element
        var found: Substring?
        while let text = rest {
            let semicolon = lastIndex(of: UInt8(ascii: ";"), in: text, ignoresQuoted: true)
            rest = semicolon.map { text[..<$0] }
            let pair = semicolon.map { text[text.utf8.index(after: $0)...] } ?? text
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0].withoutOptionalWhitespace.lowercased() == "for" { found = parts[1] }
        }
        return found
    }

    /// Quotes are counted from the end, so that one that the client leaves open does not hide the elements of the proxies after it.
    private static func lastIndex(of separator: UInt8, in text: Substring, ignoresQuoted: Bool) -> Substring.Index? {
        var isQuoted = false
        return text.utf8.lastIndex { byte in
            if ignoresQuoted, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return byte == separator && !isQuoted
        }
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
