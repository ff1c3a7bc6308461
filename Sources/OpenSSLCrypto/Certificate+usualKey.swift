/// A certificate that anybody may have sent.
///
/// OpenSSL decodes a certificate's key before anything is verified, and a key on a curve of the sender's own, or as a compressed point, can keep it
/// busy for a third of a second.
extension Certificate {
    /// SubjectPublicKeyInfo of an uncompressed point up to its coordinates, on P-256 and on P-384 (RFC 5480 §2.1.1).
    private static let usualKeys: [[UInt8]] = [
        [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03,
            0x01,
            0x07, 0x03, 0x42, 0x00, 0x04,
        ],
        [
            0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22, 0x03,
            0x62,
            0x00, 0x04,
        ],
    ]

    /// Like `init(der:)`; nil also when the key is not one on P-256 or P-384 in its usual form.
    public convenience init?(untrusted der: [UInt8]) {
        guard let key = Self.key(in: der[...]), Self.usualKeys.contains(where: { key.starts(with: $0) }) else { return nil }
        self.init(der: der)
    }

    /// The SubjectPublicKeyInfo of a certificate of version 3 (RFC 5280 §4.1).
    private static func key(in der: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let certificate = DERElement(der, tag: 0x30), let body = DERElement(certificate.content, tag: 0x30) else { return nil }
        var rest = body.content
        // Version, serial number, signature's algorithm, issuer, validity, subject.
        for tag: UInt8 in [0xA0, 0x02, 0x30, 0x30, 0x30, 0x30] {
            guard let element = DERElement(rest, tag: tag) else { return nil }
            rest = element.rest
        }
        guard let key = DERElement(rest, tag: 0x30) else { return nil }
        return rest[..<key.content.endIndex]
    }
}

/// The first element of some bytes in distinguished encoding (ITU-T X.690).
private struct DERElement {
    let content: ArraySlice<UInt8>
    let rest: ArraySlice<UInt8>

    /// nil unless it has this tag and a definite length of at most two bytes, as certificates of under 64 KiB have.
    init?(_ bytes: ArraySlice<UInt8>, tag: UInt8) {
        guard bytes.first == tag, let first = bytes.dropFirst().first else { return nil }
        var rest = bytes.dropFirst(2)
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard count == 1 || count == 2, rest.count >= count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard rest.count >= length else { return nil }
        content = rest.prefix(length)
        self.rest = rest.dropFirst(length)
    }
}
