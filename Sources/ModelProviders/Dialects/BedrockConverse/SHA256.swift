import CLibSSL

/// SHA-256 and HMAC by OpenSSL, which is linked for TLS: swift-crypto would bring a second copy of the same.
enum SHA256 {
    private static let count = 32

    // SAFETY: both functions write at most `count` bytes, the size of the digest, into a buffer of that size, and read the input during the call.
    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { digest, written in
            var length: UInt32 = 0
            let isDone = EVP_Digest(bytes, bytes.count, digest.baseAddress, &length, EVP_sha256(), nil) == 1
            written = isDone ? Int(length) : 0
        }
    }

    /// HMAC (RFC 2104).
    static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { code, written in
            var length: UInt32 = 0
            let isDone = HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, code.baseAddress, &length) != nil
            written = isDone ? Int(length) : 0
        }
    }
}
