import CLibSSL

/// A key of HMAC-SHA256 (RFC 2104).
public final class AuthenticationKey: Sendable {
    /// The state after the key, which is taken into the hash once and not for each message. nil when OpenSSL has no memory.
    private let keyed: OpenSSLObject?

    public init(_ key: some Sequence<UInt8>) {
        let algorithm = EVP_MAC_fetch(nil, "HMAC", nil)
        defer { EVP_MAC_free(algorithm) }
        guard let algorithm, let context = EVP_MAC_CTX_new(algorithm) else {
            keyed = nil
            return
        }
        // OpenSSL takes an empty key for none. Keys are filled up with zeros, so this is the same one.
        let key = Array(key)
        let bytes = key.isEmpty ? [0] : key
        let object = OpenSSLObject(context, free: { EVP_MAC_CTX_free($0) })
        keyed = gateway_hmac_sha256_init(context, bytes, bytes.count) == 1 ? object : nil
    }

    /// The code of a message; empty when OpenSSL has no memory.
    public func code(of message: ArraySlice<UInt8>) -> [UInt8] {
        guard let keyed, let context = EVP_MAC_CTX_dup(keyed.pointer) else { return [] }
        defer { EVP_MAC_CTX_free(context) }
        guard message.withUnsafeBufferPointer({ EVP_MAC_update(context, $0.baseAddress, $0.count) }) == 1 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { code, written in
            if EVP_MAC_final(context, code.baseAddress, &written, code.count) != 1 { written = 0 }
        }
    }

    public func code(of message: [UInt8]) -> [UInt8] { code(of: message[...]) }

    /// Whether `code` is that of the message. Compares in constant time.
    public func isCode(_ code: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        ConstantTime.areEqual(self.code(of: message), code)
    }
}

/// Comparison of codes and digests whose time does not tell an attacker how much of a guess is right.
public enum ConstantTime {
    /// Whether two codes or digests are equal; false when one has another length than SHA-256's. The time does not depend on where they differ.
    public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == SHA256.byteCount, right.count == SHA256.byteCount else { return false }
        return CRYPTO_memcmp(left, right, SHA256.byteCount) == 0
    }
}
