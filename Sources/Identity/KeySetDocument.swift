import CoachCore
import JSON
import OpenSSLCrypto

/// A parsed key set document (RFC 7517 §5): the usable keys, and a sentence (finding) for each unusable one. An unusable key does not
/// affect the others.
struct KeySetDocument: Sendable {
    var keys = VerificationKeys.none
    var findings: [String] = []

    /// Throws `JSONFinding` when the document is not a key set.
    init(_ bytes: [UInt8]) throws {
        let root = try JSONReader(parsing: bytes, flaws: .rejectedWhereRead)
        var usable: [String: VerificationKeys.Key] = [:]
        for (position, element) in try root.elements("keys", 0...1_000).enumerated() {
            let name = "key \(position + 1)"
            do {
                let entry = try Entry(element)
                if usable[entry.keyID] != nil { throw Entry.Unusable("its kid \(entry.keyID) was taken by an earlier key") }
                usable[entry.keyID] = entry.key
            } catch {
                findings.append("\(name): \(error)")
            }
        }
        keys = VerificationKeys(usable)
    }
}

/// A key of the document that can verify signatures.
private struct Entry {
    let keyID: String
    let key: VerificationKeys.Key

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
        let algorithm: AsymmetricAlgorithm
        let key: PublicKey?
        // Only public members are read, also of a private key that was published by mistake.
        switch (kind, curve) {
        case ("RSA", _):
            algorithm = .rs256
            key = PublicKey(rsaModulus: try Self.number("n", json), exponent: try Self.number("e", json))
        case ("EC", "P-256"):
            algorithm = .es256
            key = PublicKey(p256X: try Self.number("x", json), y: try Self.number("y", json))
        case ("OKP", "Ed25519"):
            algorithm = .edDSA
            key = PublicKey(ed25519: try Self.number("x", json))
        // Also for symmetric keys ("oct"): in a public document they are not secret.
        default: throw Unusable("kid \(keyID) is of a kind that is not accepted")
        }
        let declared = try json.optional("alg", as: String.self)
        guard declared == nil || declared == algorithm.rawValue else {
            throw Unusable("kid \(keyID) is for an algorithm that is not accepted")
        }
        guard let key else { throw Unusable("kid \(keyID) has numbers that are no key of its kind") }
        self.keyID = keyID
        self.key = VerificationKeys.Key(algorithm: algorithm, key: key)
    }

    /// The bytes of a number in base64url; empty when it is missing or is none. Some issuers add padding.
    private static func number(_ name: String, _ json: JSONReader) throws -> [UInt8] {
        var text = (try json.optional(name, as: String.self) ?? "")[...].utf8
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        return Base64URL.decode(text) ?? []
    }
}
