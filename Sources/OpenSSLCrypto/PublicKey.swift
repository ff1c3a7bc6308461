import CLibSSL

/// A public key that verifies signatures, for exactly one algorithm.
public final class PublicKey: Sendable {
    private enum Kind { case rsa, p256, ed25519 }

    /// In bits. Shorter ones can be broken (NIST SP 800-131A), and longer ones take OpenSSL too long.
    static let rsaLengths = 2048...16_384

    private let object: OpenSSLObject
    private var key: OpaquePointer { object.pointer }
    private let kind: Kind

    private init?(_ key: OpaquePointer?, _ kind: Kind) {
        guard let object = OpenSSLObject(key, free: { EVP_PKEY_free($0) }) else { return nil }
        self.object = object
        self.kind = kind
    }

    /// A key for RSASSA-PKCS1-v1_5 with SHA-256 (RS256) from big-endian numbers. Nil when they are no key that can be trusted.
    public convenience init?(rsaModulus modulus: [UInt8], exponent: [UInt8]) {
        let exponent = exponent.drop { $0 == 0 }
        // With an exponent of 1 everything would be its own signature.
        guard let last = exponent.last, last & 1 == 1, exponent != [1], exponent.count <= 8 else { return nil }
        let information = DER.sequence(
            // rsaEncryption, and its NULL (RFC 3279 §2.3.1)
            [0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00],
            DER.bitString(DER.sequence(DER.integer(modulus), DER.integer(exponent))))
        self.init(PublicKey.parse(information), .rsa)
        guard Self.rsaLengths.contains(Int(EVP_PKEY_get_bits(key))) else { return nil }
    }

    /// A key for ECDSA on the curve P-256 with SHA-256 (ES256). Nil when the coordinates are no point of the curve.
    public convenience init?(p256X x: [UInt8], y: [UInt8]) {
        guard x.count == 32, y.count == 32 else { return nil }
        let information = DER.sequence(
            // ecPublicKey on prime256v1 (RFC 5480 §2.1.1)
            [
                0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01,
                0x07,
            ],
            DER.bitString([4] + x + y))
        self.init(PublicKey.parse(information), .p256)
    }

    /// A key for Ed25519 (EdDSA).
    public convenience init?(ed25519 bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.init(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count), .ed25519)
    }

    /// The key of a certificate, when it is one on the curve P-256.
    convenience init?(p256Of certificate: OpaquePointer) {
        guard let key = X509_get0_pubkey(certificate), EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return nil }
        var name = [CChar](repeating: 0, count: 32)
        guard EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1, name.starts(with: "prime256v1".utf8CString),
            EVP_PKEY_up_ref(key) == 1
        else { return nil }
        self.init(key, .p256)
    }

    /// A key from its SubjectPublicKeyInfo.
    private static func parse(_ information: [UInt8]) -> OpaquePointer? {
        // What is wrong with it would stay in the thread's queue.
        defer { ERR_clear_error() }
        return information.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_PUBKEY(nil, &position, bytes.count)
        }
    }

    /// Whether this is the message's signature, in the form of JSON Web Signatures (RFC 7518 §3, RFC 8037 §3.1).
    public func isSignature(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        var signature = signature
        if kind == .p256 {
            guard signature.count == 64 else { return false }
            signature = DER.sequence(DER.integer(signature[..<32]), DER.integer(signature[32...]))
        }
        guard let context = EVP_MD_CTX_new() else { return false }
        // A wrong signature leaves its reason in the thread's queue, where TLS would take it for its own.
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        // Ed25519 hashes by itself.
        guard EVP_DigestVerifyInit(context, nil, kind == .ed25519 ? nil : EVP_sha256(), nil, key) == 1 else { return false }
        return message.withUnsafeBufferPointer {
            EVP_DigestVerify(context, signature, signature.count, $0.baseAddress, $0.count) == 1
        }
    }
}
