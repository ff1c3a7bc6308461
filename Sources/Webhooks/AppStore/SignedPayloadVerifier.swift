import CoachCore
import Crypto
import Foundation
import JSON
@_spi(FixedExpiryValidationTime) import X509

/// Verifies payloads that Apple signs: a compact JWS with ES256 and a chain of exactly three certificates in `x5c` that ends in a pinned
/// root (facts: Apple's app-store-server-library, ChainVerifier).
public struct SignedPayloadVerifier: Sendable {
    /// Why a payload is not Apple's.
    public enum Rejection: Error, Hashable, Sendable {
        /// Not three base64url parts with a JSON header and payload.
        case malformed
        /// `alg` is not ES256.
        case algorithm
        /// `x5c` is not three certificates, or one lacks the marker of its role.
        case certificates
        /// The chain does not end in a pinned root, or a certificate was not valid when the payload was signed.
        case untrusted
        case signature
        /// Signed for another app, or in an environment that signs nothing (Xcode).
        case otherApp
    }

    /// Longer payloads are rejected before they are decoded; Apple's have a few KiB.
    static let longestPayload = 128 * 1024

    private let roots: [Certificate]

    /// - Parameter roots: DER certificates. Production pins Apple Root CA - G3 alone.
    public init(roots: [[UInt8]]) throws { self.roots = try roots.map { try Certificate(derEncoded: $0) } }

    /// The verified payload. Certificates must be valid at its `signedDate`, and without one now.
    public func payload(of text: String, now: Date) async throws(Rejection) -> JSONValue {
        let parts =
            text.utf8.count <= Self.longestPayload ? text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) : []
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap({ try? JSONValue(parsing: $0) }),
            let payload = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }), payload.members != nil,
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        guard header["alg"]?.string == "ES256", header["crit"] == nil else { throw .algorithm }
        // Not verified yet: a year that X.509 cannot write would stop the process in the library.
        let signed = payload["signedDate"]?.integer
        let signedAt = signed.flatMap { BillingInstant(milliseconds: $0) }
        guard signed == nil || signedAt != nil else { throw .malformed }
        let leaf = try await leaf(
            of: header["x5c"], at: signedAt.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) } ?? now)
        guard let key = P256.Signing.PublicKey(leaf.publicKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signature, for: Data(parts[0]) + [UInt8(ascii: ".")] + Data(parts[1]))
        else { throw .signature }
        return payload
    }

    private func leaf(of x5c: JSONValue?, at date: Date) async throws(Rejection) -> Certificate {
        let texts = x5c?.elements?.compactMap(\.string) ?? []
        let certificates = texts.compactMap { text in
            Data(base64Encoded: text).flatMap { try? Certificate(derEncoded: [UInt8]($0)) }
        }
        guard texts.count == 3, certificates.count == 3 else { throw .certificates }
        var verifier = Verifier(rootCertificates: CertificateStore(roots)) { RFC5280Policy(fixedExpiryValidationTime: date) }
        let result = await verifier.validate(leaf: certificates[0], intermediates: CertificateStore([certificates[1]]))
        guard case .validCertificate(let chain) = result, chain.count == 3, Array(chain)[0] == certificates[0],
            Array(chain)[1] == certificates[1]
        else { throw .untrusted }
        // Apple PKI: Mac App Store receipt signing, and Worldwide Developer Relations.
        guard certificates[0].extensions[oid: [1, 2, 840, 113635, 100, 6, 11, 1]] != nil,
            certificates[1].extensions[oid: [1, 2, 840, 113635, 100, 6, 2, 1]] != nil
        else { throw .certificates }
        return certificates[0]
    }
}
