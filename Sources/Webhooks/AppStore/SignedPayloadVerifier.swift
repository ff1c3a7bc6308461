import CoachCore
import Foundation
import JSON
import OpenSSLCrypto

/// Verifies payloads that Apple signs: a compact JWS with ES256 and a chain of exactly three certificates in `x5c` that ends in a pinned
/// root. The checks are those of Apple's own library, app-store-server-library, in its `ChainVerifier`.
public struct SignedPayloadVerifier: Sendable {
    /// Why a payload is not accepted.
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
        /// Verified, but no notification for this app in Production or Sandbox.
        case otherApp
    }

    /// Longer payloads are rejected before they are decoded; Apple's have a few KiB.
    static let longestPayload = 128 * 1024

    private let roots: [Certificate]

    /// - Parameter roots: DER certificates. Production pins Apple Root CA - G3 alone.
    public init(roots: [[UInt8]]) throws {
        self.roots = try roots.map {
            guard let root = Certificate(der: $0) else { throw UnreadableRoot() }
            return root
        }
    }

    /// The bytes are no certificate.
    public struct UnreadableRoot: Error {}

    /// The verified payload. Certificates must be valid at its `signedDate`, and without one now.
    public func payload(of text: String, now: Date) throws(Rejection) -> JSONValue {
        let parts =
            text.utf8.count <= Self.longestPayload ? text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) : []
        guard parts.count == 3, let header = Base64URL.decode(parts[0]).flatMap({ try? JSONValue(parsing: $0) }),
            let payload = Base64URL.decode(parts[1]).flatMap({ try? JSONValue(parsing: $0) }), payload.members != nil,
            let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        guard header["alg"]?.string == "ES256", header["crit"] == nil else { throw .algorithm }
        // Not verified yet: X.509 cannot write every year.
        let signed = payload["signedDate"]?.integer
        let signedAt = signed.flatMap { BillingInstant(milliseconds: $0) }
        guard signed == nil || signedAt != nil else { throw .malformed }
        let leaf = try leaf(of: header["x5c"], at: signedAt.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) } ?? now)
        guard let key = leaf.p256Key, key.isSignature(signature, of: Array(text.utf8)[..<(parts[0].count + 1 + parts[1].count)]) else {
            throw .signature
        }
        return payload
    }

    private func leaf(of x5c: JSONValue?, at date: Date) throws(Rejection) -> Certificate {
        let texts = x5c?.elements?.compactMap(\.string) ?? []
        guard texts.count == 3, x5c?.elements?.count == 3 else { throw .certificates }
        // The third is the root, of which only our own copy counts.
        let certificates = texts.prefix(2).compactMap { text in
            Data(base64Encoded: text).flatMap { Certificate(untrusted: [UInt8]($0)) }
        }
        guard certificates.count == 2 else { throw .certificates }
        let (leaf, intermediate) = (certificates[0], certificates[1])
        guard leaf.isTrusted(through: intermediate, roots: roots, atUnixSeconds: Int(date.timeIntervalSince1970)) else { throw .untrusted }
        // Apple PKI: Mac App Store receipt signing, and Worldwide Developer Relations.
        guard leaf.hasExtension("1.2.840.113635.100.6.11.1"), intermediate.hasExtension("1.2.840.113635.100.6.2.1") else {
            throw .certificates
        }
        return leaf
    }
}
