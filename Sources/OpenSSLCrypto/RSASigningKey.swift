import CLibSSL

/// A private key that makes RS256 signatures (RSASSA-PKCS1-v1_5 with SHA-256).
public final class RSASigningKey: Sendable {
    private let object: OpenSSLObject
    private var key: OpaquePointer { object.pointer }

    /// From PKCS #8 or PKCS #1 in PEM form. Nil for any other text, another kind of key, an encrypted one, and one of under 2,048 bits.
    public init?(pem: String) {
        defer { ERR_clear_error() }
        let text = Array(pem.utf8)
        let read = text.withUnsafeBufferPointer { text -> OpaquePointer? in
            guard let source = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else { return nil }
            defer { BIO_free(source) }
            // Without a callback OpenSSL would ask the terminal for the password of an encrypted key.
            return PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let object = OpenSSLObject(read, free: { EVP_PKEY_free($0) }) else { return nil }
        self.object = object
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA, PublicKey.rsaLengths.contains(Int(EVP_PKEY_get_bits(key))) else { return nil }
    }

    /// The message's signature; nil when OpenSSL cannot make one.
    public func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        var count = 0
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, nil, &count, message, message.count) == 1
        else { return nil }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
        return Array(signature.prefix(count))
    }
}
