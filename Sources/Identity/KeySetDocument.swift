import JSON
import JWTKit

/// A parsed key set document (RFC 7517 §5): the usable keys, and a sentence (finding) for each unusable one. An unusable key does not
/// affect the others.
struct KeySetDocument: Sendable {
    var keys = VerificationKeys.none
    var findings: [String] = []

    /// Throws `JSONFinding` when the document is not a key set. Suspends, because JWTKit makes its verifiers inside an actor.
    init(_ bytes: [UInt8]) async throws {
        let root = try JSONReader(parsing: bytes, flaws: .rejectedWhereRead)
        var usable: [String: VerificationKeys.Key] = [:]
        for (position, element) in try root.elements("keys", 0...1_000).enumerated() {
            let name = "key \(position + 1)"
            do {
                let entry = try Entry(element)
                if usable[entry.keyID] != nil { throw Entry.Unusable("its kid \(entry.keyID) was taken by an earlier key") }
                usable[entry.keyID] = try await entry.verificationKey()
            } catch {
                findings.append("\(name): \(error)")
            }
        }
        keys = VerificationKeys(usable)
    }
}

/// A key of the document that can verify signatures, before JWTKit has checked its numbers.
private struct Entry {
    let keyID: String
    let algorithm: AsymmetricAlgorithm
    let jwk: JWK

    struct Unusable: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    /// Throws `Unusable` for a key that cannot be used, and `JSONFinding` for a member that is repeated or of another type.
    init(_ json: JSONReader) throws {
        guard let keyID = try json.optional("kid", as: String.self) else { throw Unusable("it has no kid") }
        let use = try json.optional("use", as: String.self)
        let operations = try json.optional("key_ops", as: [String].self)
        guard use == nil || use == "sig", operations?.contains("verify") ?? true else {
            throw Unusable("kid \(keyID) is not for signatures")
        }
        let kind = try json.required("kty", as: String.self)
        let curve = try json.optional("crv", as: String.self)
        let identifier = JWKIdentifier(string: keyID)
        // Only public members are read, also of a private key that was published by mistake. The algorithm is fixed here, because JWTKit
        // otherwise takes it from the first token that uses the key.
        switch (kind, curve) {
        case ("RSA", _):
            algorithm = .rs256
            jwk = .rsa(.rs256, identifier: identifier, modulus: try json.optional("n"), exponent: try json.optional("e"))
        case ("EC", "P-256"):
            algorithm = .es256
            jwk = .ecdsa(.es256, identifier: identifier, x: try json.optional("x"), y: try json.optional("y"), curve: .p256)
        case ("OKP", "Ed25519"):
            algorithm = .edDSA
            jwk = .octetKeyPair(.eddsa, identifier: identifier, x: try json.optional("x"), y: nil, curve: .ed25519)
        // Also for symmetric keys ("oct"): in a public document they are not secret.
        default: throw Unusable("kid \(keyID) is of a kind that is not accepted")
        }
        let declared = try json.optional("alg", as: String.self)
        guard declared == nil || declared == algorithm.rawValue else {
            throw Unusable("kid \(keyID) is for an algorithm that is not accepted")
        }
        self.keyID = keyID
    }

    func verificationKey() async throws -> VerificationKeys.Key {
        do {
            // A collection with one key: no default and no other key that a lookup could return.
            let collection = try await JWTKeyCollection().add(jwk: jwk)
            let verifier = try await collection.getKey(for: jwk.keyIdentifier, alg: algorithm.rawValue)
            return VerificationKeys.Key(algorithm: algorithm, verifier: verifier)
        } catch {
            throw Unusable("kid \(keyID) has numbers that are no key of its kind")
        }
    }
}
