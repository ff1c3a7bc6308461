import OpenSSLCrypto

/// The HS256 secret that the gateway shares with the issuer of the users' tokens. Its description never contains the secret.
public struct SharedSecret: Sendable, CustomStringConvertible, CustomReflectable {
    /// The error for a secret that is too short: an attacker could find it offline from one token.
    public struct TooShort: Error, CustomStringConvertible {
        /// The length of the rejected secret in bytes.
        public let byteCount: Int
        public var description: String { "the secret has \(byteCount) bytes, at least \(SharedSecret.minimumByteCount) are needed" }
    }

    /// The minimum length in bytes: that of the hash's output (RFC 7518 §3.2).
    public static let minimumByteCount = 32

    private let key: AuthenticationKey

    /// Uses the UTF-8 bytes of `text` as the key, as Supabase and most issuers do, without base64 decoding.
    public init(_ text: String) throws(TooShort) {
        let bytes = Array(text.utf8)
        guard bytes.count >= Self.minimumByteCount else { throw TooShort(byteCount: bytes.count) }
        key = AuthenticationKey(bytes)
    }

    func sign(_ message: some Sequence<UInt8>) -> [UInt8] {
        key.code(of: Array(message))
    }

    /// Whether the signature is that of the message. Compares in constant time.
    func verify(_ signature: [UInt8], signs message: ArraySlice<UInt8>) -> Bool {
        key.isCode(signature, of: message)
    }

    public var description: String { "SharedSecret(hidden)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
