import JWTKit

/// An immutable set of public keys by `kid`, each for exactly one algorithm. Reading it takes no lock and no hop.
public struct VerificationKeys: Sendable {
    /// A key, and the one algorithm that it was loaded for. A token's own `alg` never chooses (RFC 8725 §3.1).
    struct Key: Sendable {
        let algorithm: AsymmetricAlgorithm
        let verifier: any JWTAlgorithm

        func verify(_ signature: [UInt8], signs message: ArraySlice<UInt8>) -> Bool {
            // A signature of a wrong length throws; for us that is a wrong signature like any other.
            (try? verifier.verify(signature, signs: message)) ?? false
        }
    }

    private let keys: [String: Key]

    init(_ keys: [String: Key]) { self.keys = keys }

    /// No keys: every `kid` is unknown.
    public static let none = VerificationKeys([:])

    /// The `kid`s, sorted.
    public var identifiers: [String] { keys.keys.sorted() }

    subscript(identifier: String) -> Key? { keys[identifier] }
}

/// The accepted public-key algorithms.
enum AsymmetricAlgorithm: String, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
}
