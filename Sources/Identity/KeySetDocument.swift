import Foundation
import JWTKit

/// A parsed key set document (RFC 7517 §5): the keys that can be used, and a sentence for each that cannot.
/// One strange key never costs the others.
struct KeySetDocument: Sendable {
    var keys = VerificationKeys.none
    var findings: [String] = []

    /// Throws only when the document as a whole is no key set. Suspends, because JWTKit makes its verifiers inside an actor.
    init(_ bytes: [UInt8]) async throws {
        let outline = try JSONDecoder().decode(Outline.self, from: Data(bytes))
        var usable: [String: VerificationKeys.Key] = [:]
        for (position, entry) in outline.keys.enumerated() {
            let name = "key \(position + 1)"
            switch entry {
            case .failure(let problem):
                findings.append("\(name): \(problem)")
            case .success(let entry) where usable[entry.keyID] != nil:
                findings.append("\(name): its kid \(entry.keyID) was taken by an earlier key")
            case .success(let entry):
                do {
                    usable[entry.keyID] = try await entry.verificationKey()
                } catch {
                    findings.append("\(name): \(error)")
                }
            }
        }
        keys = VerificationKeys(usable)
    }
}

private struct Outline: Decodable {
    var keys: [Result<Entry, Entry.Unusable>] = []

    private enum CodingKeys: String, CodingKey { case keys }

    init(from decoder: any Decoder) throws {
        let list = try decoder.container(keyedBy: CodingKeys.self).decode([Lenient].self, forKey: .keys)
        keys = list.map(\.entry)
    }

    /// Never throws, so that the list goes on behind a key of an unknown kind.
    private struct Lenient: Decodable {
        let entry: Result<Entry, Entry.Unusable>

        init(from decoder: any Decoder) {
            do {
                entry = .success(try Entry(from: decoder))
            } catch let unusable as Entry.Unusable {
                entry = .failure(unusable)
            } catch {
                entry = .failure(.init("not a key of a known kind"))
            }
        }
    }
}

private struct Entry: Decodable {
    let keyID: String
    let algorithm: AsymmetricAlgorithm
    let jwk: JWK

    struct Unusable: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private enum CodingKeys: String, CodingKey {
        case kty, crv, alg, kid, use
        case operations = "key_ops"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard let keyID = try fields.decodeIfPresent(String.self, forKey: .kid) else { throw Unusable("it has no kid") }
        let use = try fields.decodeIfPresent(String.self, forKey: .use)
        let operations = try fields.decodeIfPresent([String].self, forKey: .operations)
        guard use == nil || use == "sig", operations?.contains("verify") ?? true else {
            throw Unusable("kid \(keyID) is not for signatures")
        }
        let kind = try fields.decode(String.self, forKey: .kty)
        let curve = try fields.decodeIfPresent(String.self, forKey: .crv)
        let algorithm: AsymmetricAlgorithm? =
            switch (kind, curve) {
            case ("RSA", _): .rs256
            case ("EC", "P-256"): .es256
            case ("OKP", "Ed25519"): .edDSA
            default: nil
            }
        // A symmetric key ("oct") in a public document is published, and so worthless; it ends here too.
        guard let algorithm else { throw Unusable("kid \(keyID) is of a kind that is not accepted") }
        let declared = try fields.decodeIfPresent(String.self, forKey: .alg)
        guard declared == nil || declared == algorithm.rawValue else {
            throw Unusable("kid \(keyID) is for an algorithm that is not accepted")
        }
        self.keyID = keyID
        self.algorithm = algorithm
        var jwk = try JWK(from: decoder)
        // Stamped, because JWTKit otherwise lets the first token that names the key choose; and public, whatever was published.
        jwk.algorithm = JWK.Algorithm(rawValue: algorithm.rawValue)
        jwk.privateExponent = nil
        self.jwk = jwk
    }

    func verificationKey() async throws -> VerificationKeys.Key {
        do {
            // A collection of its own: no default, no neighbour that a lookup could fall back to.
            let collection = try await JWTKeyCollection().add(jwk: jwk)
            let verifier = try await collection.getKey(for: jwk.keyIdentifier, alg: algorithm.rawValue)
            return VerificationKeys.Key(algorithm: algorithm, verifier: verifier)
        } catch {
            throw Unusable("kid \(keyID) has numbers that are no key of its kind")
        }
    }
}
