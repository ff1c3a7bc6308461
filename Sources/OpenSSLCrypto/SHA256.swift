import CLibSSL

/// SHA-256 by OpenSSL, which is linked for TLS: swift-crypto would bring a second copy of the same, and minutes of a first build.
public enum SHA256 {
    public static let byteCount = 32

    // SAFETY: OpenSSL writes at most `byteCount` bytes, the size of the digest, into a buffer of that size, and reads the input during the call.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { digest, written in
            var length: UInt32 = 0
            // Without a digest, different texts would pass for one.
            precondition(EVP_Digest(bytes, bytes.count, digest.baseAddress, &length, EVP_sha256(), nil) == 1, "SHA-256 without memory")
            written = Int(length)
        }
    }
}
