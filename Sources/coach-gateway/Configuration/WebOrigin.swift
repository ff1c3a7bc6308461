/// Origins of browser clients, as browsers send them (RFC 6454 §6.2): scheme, host in lower case, and a port that is not the scheme's own.
enum WebOrigin {
    /// Why a text is no origin; nil when it is one.
    static func defect(of text: String) -> String? {
        if text == "*" { return "* is not supported: name each origin" }
        guard let separator = text.firstRange(of: "://"), isScheme(text[..<separator.lowerBound]) else {
            return "\"\(text)\" is no origin: write scheme://host or scheme://host:port"
        }
        let (scheme, rest) = (text[..<separator.lowerBound], text[separator.upperBound...])
        if rest.contains(where: { "/?#".contains($0) }) { return "\"\(text)\": an origin has no path, also no slash at its end" }
        guard !rest.isEmpty, !rest.contains("*"), rest.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "@") }) else {
            return "\"\(text)\" is no origin: its host cannot be read, or is a pattern"
        }
        if text != text.lowercased() { return "\"\(text)\": browsers send origins in lower case" }
        return portDefect(scheme, rest).map { "\"\(text)\": \($0)" }
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }

    private static func portDefect(_ scheme: Substring, _ rest: Substring) -> String? {
        // Behind the bracket of an IPv6 address, if there is one.
        let tail = rest.lastIndex(of: "]").map { rest[rest.index(after: $0)...] } ?? rest
        guard let colon = tail.lastIndex(of: ":") else { return nil }
        guard let port = UInt16(tail[tail.index(after: colon)...]) else { return "its port is no number from 0 to 65535" }
        let own: [String: UInt16] = ["http": 80, "https": 443]
        return own[String(scheme)] == port ? "browsers leave out the scheme's own port" : nil
    }
}
