import Crypto
import Foundation

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

    /// The hash with the key taken in, to be copied for each message.
    private let keyed: HMAC<SHA256>

    /// The UTF-8 bytes of `text` are the key, as Supabase and most issuers take it; it is not decoded from base64.
    public init(_ text: String) throws(TooShort) {
        let bytes = Array(text.utf8)
        guard bytes.count >= Self.minimumByteCount else { throw TooShort(byteCount: bytes.count) }
        keyed = HMAC<SHA256>(key: SymmetricKey(data: bytes))
    }

    func sign(_ message: some Sequence<UInt8>) -> [UInt8] {
        Array(code(for: Array(message)))
    }

    /// Constant time.
    func verify(_ signature: [UInt8], signs message: ArraySlice<UInt8>) -> Bool {
        code(for: message) == signature
    }

    private func code(for message: some DataProtocol) -> HMAC<SHA256>.MAC {
        var keyed = keyed
        keyed.update(data: message)
        return keyed.finalize()
    }

    public var description: String { "SharedSecret(hidden)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
