import OpenSSLCrypto

/// An immutable set of public keys by `kid`, each for exactly one algorithm.
public struct VerificationKeys: Sendable {
    /// A public key and its only algorithm. A token's `alg` never selects the algorithm (RFC 8725 §3.1).
    struct Key: Sendable {
        let algorithm: AsymmetricAlgorithm
        let key: PublicKey

        func verify(_ signature: [UInt8], signs message: ArraySlice<UInt8>) -> Bool { key.isSignature(signature, of: message) }
    }

    private let keys: [String: Key]

    init(_ keys: [String: Key]) { self.keys = keys }

    /// The empty set.
    public static let none = VerificationKeys([:])

    /// The `kid`s, sorted.
    public var identifiers: [String] { keys.keys.sorted() }

    subscript(identifier: String) -> Key? { keys[identifier] }
}

/// The public-key signature algorithms that are accepted.
enum AsymmetricAlgorithm: String, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
}
