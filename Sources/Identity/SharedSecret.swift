import Crypto

/// The HS256 secret that the gateway shares with whoever issues the users' tokens.
public struct SharedSecret: Sendable, CustomStringConvertible, CustomReflectable {
    /// A secret that would let somebody guess it offline from one token.
    public struct TooShort: Error, CustomStringConvertible {
        /// Bytes that it had.
        public let byteCount: Int
        public var description: String { "the secret has \(byteCount) bytes, at least \(SharedSecret.minimumByteCount) are needed" }
    }

    /// As long as the hash's output (RFC 7518 §3.2).
    public static let minimumByteCount = 32

    private let key: SymmetricKey

    /// The UTF-8 bytes of `text` are the key, as Supabase and most issuers take it; it is not decoded from base64.
    public init(_ text: String) throws(TooShort) {
        let bytes = Array(text.utf8)
        guard bytes.count >= Self.minimumByteCount else { throw TooShort(byteCount: bytes.count) }
        self.key = SymmetricKey(data: bytes)
    }

    func sign(_ message: some Sequence<UInt8>) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(message), using: key))
    }

    /// Constant time.
    func verify(_ signature: [UInt8], signs message: ArraySlice<UInt8>) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: message, using: key)
    }

    public var description: String { "SharedSecret(hidden)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
