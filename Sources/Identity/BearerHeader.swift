/// Parses the value of an `Authorization` header (RFC 6750 §2.1).
enum BearerHeader {
    /// The token: the bytes after the scheme, which is case-insensitive and followed by one or more spaces (RFC 9110 §11.1, §11.4).
    static func token(in header: String?) throws(TokenRejection) -> [UInt8] {
        guard let header else { throw .missing }
        let blank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var rest = header.utf8.drop(while: blank)
        for expected in "bearer".utf8 {
            guard let byte = rest.popFirst(), byte | 0x20 == expected else { throw .missing }
        }
        let token = rest.drop { $0 == UInt8(ascii: " ") }
        // "Bearer" alone has no token; "Bearerx" is another scheme.
        guard token.startIndex > rest.startIndex, !token.isEmpty else { throw .missing }
        // Checked before the copy, because a header can have 32 KiB.
        guard token.count <= TokenVerifier.maximumTokenByteCount else { throw .tooLong }
        var bytes = Array(token)
        while let last = bytes.last, blank(last) { bytes.removeLast() }
        return bytes
    }
}
