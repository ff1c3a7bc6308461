import JSON

/// Implements ``Redactor``: one pass over a text that replaces its secrets. Each rule checks the bytes at one position and returns the
/// range of the secret there.
struct RedactionScan {
    private let bytes: [UInt8]
    /// Everything before this index is in `output`.
    private var copied = 0
    private var output: [UInt8] = []

    init(_ text: String) { bytes = Array(text.utf8) }

    /// The redacted text; nil when there are no secrets.
    mutating func run() -> [UInt8]? {
        var index = 0
        while index < bytes.count {
            if let secret = secret(at: index) {
                output += bytes[copied..<secret.lowerBound]
                output += Array(Redactor.mark.utf8)
                copied = secret.upperBound
                index = secret.upperBound
            } else {
                index += 1
            }
        }
        guard copied > 0 else { return nil }
        return output + bytes[copied...]
    }

    private func secret(at index: Int) -> Range<Int>? {
        switch bytes[index] {
        case UInt8(ascii: "e"): webToken(at: index)
        case UInt8(ascii: "@"): address(around: index, separator: 1)
        case UInt8(ascii: "%") where matches("%40", at: index): address(around: index, separator: 3)
        case UInt8(ascii: ":"): userInfo(at: index)
        case UInt8(ascii: "B"), UInt8(ascii: "b"): bearer(at: index) ?? basic(at: index) ?? key(at: index)
        case UInt8(ascii: "="), UInt8(ascii: "\""), UInt8(ascii: "'"): assigned(at: index)
        case UInt8(ascii: "s"), UInt8(ascii: "r"), UInt8(ascii: "p"), UInt8(ascii: "A"), UInt8(ascii: "w"), UInt8(ascii: "a"):
            key(at: index)
        default: nil
        }
    }

    // MARK: Rules

    /// A JSON Web Token, or a long part of one: begins with `eyJ`, which is `{"` in base64url.
    private func webToken(at index: Int) -> Range<Int>? {
        guard matches("eyJ", at: index) else { return nil }
        let end = end(from: index) { Self.isBase64URL($0) || $0 == UInt8(ascii: ".") }
        let dots = (index..<end).count { bytes[$0] == UInt8(ascii: ".") }
        return dots >= 2 || end - index >= 24 ? index..<end : nil
    }

    private func bearer(at index: Int) -> Range<Int>? {
        guard let start = credential(scheme: "bearer", at: index) else { return nil }
        let end = end(from: start) { Self.isCredential($0) }
        guard end > start, !Self.plainWords.contains(where: { matches($0, at: start) && $0.utf8CodeUnitCount == end - start }) else {
            return nil
        }
        return start..<end
    }

    private func basic(at index: Int) -> Range<Int>? {
        guard let start = credential(scheme: "basic", at: index) else { return nil }
        let end = end(from: start) { Self.isCredential($0) }
        return end - start >= 8 && looksOpaque(start..<end) ? start..<end : nil
    }

    /// An API key, recognized by the prefixes that model providers, payment and database services use.
    private func key(at index: Int) -> Range<Int>? {
        guard index == 0 || !Self.isAlphanumeric(bytes[index - 1]) else { return nil }
        guard let prefix = Self.keyPrefixes.first(where: { matches($0, at: index) }) else { return nil }
        let end = end(from: index) { Self.isBase64URL($0) }
        return end - index >= prefix.utf8CodeUnitCount + 8 ? index..<end : nil
    }

    /// An e-mail address, found at its separator (`@` or `%40`).
    private func address(around index: Int, separator: Int) -> Range<Int>? {
        var start = index
        while start > copied, Self.isLocalPart(bytes[start - 1]) { start -= 1 }
        var end = end(from: index + separator) {
            Self.isAlphanumeric($0) || $0 >= 0x80 || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
        }
        while end > index + separator, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
        let hasDomain = (index + separator..<end).contains { bytes[$0] == UInt8(ascii: ".") }
        return start < index && hasDomain ? start..<end : nil
    }

    /// The `user:password` of `scheme://user:password@host`. A password with an unescaped slash is found in database URLs.
    private func userInfo(at index: Int) -> Range<Int>? {
        guard matches("://", at: index) else { return nil }
        let start = index + 3
        let isDatabase = endsWith("postgres", before: index) || endsWith("postgresql", before: index)
        let end = end(from: start) { byte in
            if byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { return false }
            return isDatabase || (byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#"))
        }
        guard let at = (start..<end).last(where: { bytes[$0] == UInt8(ascii: "@") }), at > start else { return nil }
        return start..<at
    }

    /// The value of `password=…`, `token=…` and the like, and of `"password": "…"`, found from the end of the name.
    private func assigned(at index: Int) -> Range<Int>? {
        var name = index
        while name > 0, bytes[name - 1] == UInt8(ascii: " ") { name -= 1 }
        guard Self.secretNames.contains(where: { endsWith($0, before: name) }) else { return nil }
        var start = index
        if bytes[start] != UInt8(ascii: "=") {
            start += 1  // the quote after the name
            while start < bytes.count, bytes[start] == UInt8(ascii: " ") { start += 1 }
            guard start < bytes.count, bytes[start] == UInt8(ascii: ":") || bytes[start] == UInt8(ascii: "=") else { return nil }
        }
        start += 1
        while start < bytes.count, bytes[start] == UInt8(ascii: " ") { start += 1 }
        guard start < bytes.count else { return nil }
        let quote = bytes[start]
        guard quote != UInt8(ascii: "\""), quote != UInt8(ascii: "'") else {
            let end = end(from: start + 1) { $0 != quote }
            return end > start + 1 ? start + 1..<end : nil
        }
        // The rules for bearer and basic credentials find their end.
        guard credential(scheme: "bearer", at: start) == nil, credential(scheme: "basic", at: start) == nil else { return nil }
        let end = end(from: start) { $0 > 0x20 && !Self.endsValue($0) }
        return end > start ? start..<end : nil
    }

    // MARK: Helpers

    /// The start of the credential after a scheme's name and separators; nil when the scheme is not at this index.
    private func credential(scheme: StaticString, at index: Int) -> Int? {
        guard index == 0 || !Self.isAlphanumeric(bytes[index - 1]), matchesIgnoringCase(scheme, at: index) else { return nil }
        let name = index + scheme.utf8CodeUnitCount
        let start = end(from: name) {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "+")
        }
        return start > name ? start : nil
    }

    private func end(from start: Int, while isPart: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, isPart(bytes[end]) { end += 1 }
        return end
    }

    private func matches(_ text: StaticString, at index: Int) -> Bool { bytes[index...].starts(with: text.utf8) }

    private func matchesIgnoringCase(_ text: StaticString, at index: Int) -> Bool {
        bytes[index...].starts(with: text.utf8) { $0 | 0x20 == $1 }
    }

    private func endsWith(_ folded: String, before index: Int) -> Bool {
        var position = index
        for byte in folded.utf8.reversed() {
            position -= 1
            guard position >= 0, Redactor.folded(bytes[position]) == byte else { return false }
        }
        return position == 0 || !Self.isAlphanumeric(bytes[position - 1])
    }

    /// Whether the bytes are a credential and not a word: they contain digits, signs or inner capitals.
    private func looksOpaque(_ range: Range<Int>) -> Bool {
        range.dropFirst().contains { !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(bytes[$0]) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    private static func isCredential(_ byte: UInt8) -> Bool { isBase64URL(byte) || isOne(of: "._~+/=%", byte) }

    private static func isLocalPart(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || byte >= 0x80 || isOne(of: "._+-%~!#$&*", byte) }

    private static func endsValue(_ byte: UInt8) -> Bool { isOne(of: "&,;\"'()[]{}<>", byte) }

    private static func isOne(of signs: StaticString, _ byte: UInt8) -> Bool { signs.utf8.contains(byte) }

    /// Words that follow "bearer" in ordinary text.
    private static let plainWords: [StaticString] = [
        "token", "tokens", "authentication", "auth", "scheme", "key", "header", "credentials", "is", "was", "required", "missing",
    ]
    private static let keyPrefixes: [StaticString] = [
        "sk-", "sk_", "rk-", "rk_", "pk_", "sbp_", "sb_secret_", "AIza", "whsec_", "atk_", "pplx-", "Bearer-",
    ]
    /// Names in connection strings, queries and JSON; `-` counts as `_`.
    private static let secretNames = [
        "password", "passwd", "pwd", "secret", "token", "access_token", "refresh_token", "id_token", "api_key", "apikey", "client_secret",
        "authorization", "jwt", "email", "sig", "signature",
    ]
}
