import CoachCore
import Crypto
import Foundation
import JSON
import X509

/// A certificate authority with the same chain as Apple's (three certificates), and notifications signed by it.
package struct SignedNotification: Sendable {
    package static let now = Date(timeIntervalSince1970: 1_767_225_600)
    package static let milliseconds: Int64 = 1_767_225_600_000

    package let root: Certificate
    package let intermediate: Certificate
    package let leaf: Certificate
    private let leafKey = P256.Signing.PrivateKey()

    /// - Parameters:
    ///   - hasAuthority: whether the intermediate certificate may sign others.
    ///   - validFrom: seconds before `now` at which the leaf becomes valid; it is valid for a day.
    ///   - intermediateExtensions: of the intermediate certificate, beside those that Apple's have; `leafExtensions` of the leaf.
    package init(
        hasLeafMarker: Bool = true, hasIntermediateMarker: Bool = true, hasAuthority: Bool = true, validFrom: TimeInterval = 3600,
        intermediateExtensions: [CriticalExtension] = [], leafExtensions: [CriticalExtension] = []
    ) throws {
        let rootKey = P256.Signing.PrivateKey()
        let intermediateKey = P256.Signing.PrivateKey()
        root = try Self.certificate("Root", rootKey.publicKey, issuer: "Root", rootKey, isAuthority: true, marker: nil)
        intermediate = try Self.certificate(
            "Intermediate", intermediateKey.publicKey, issuer: "Root", rootKey, isAuthority: hasAuthority,
            marker: hasIntermediateMarker ? .intermediate : nil, intermediateExtensions)
        leaf = try Self.certificate(
            "Leaf", leafKey.publicKey, issuer: "Intermediate", intermediateKey, isAuthority: false, marker: hasLeafMarker ? .leaf : nil,
            leafExtensions, from: Self.now.addingTimeInterval(-validFrom))
    }

    private enum Marker { case leaf, intermediate }

    /// A critical extension (RFC 5280 §4.2).
    package enum CriticalExtension: Sendable {
        /// The certificate policy 1.2.3.4.
        case policy
        /// Policy constraints: the certificates from here on must have a policy in common.
        case explicitPolicy
        /// One that nobody knows.
        case unknown

        fileprivate var encoded: Certificate.Extension {
            switch self {
            case .policy: .init(oid: [2, 5, 29, 32], critical: true, value: [0x30, 7, 0x30, 5, 6, 3, 0x2A, 3, 4])
            case .explicitPolicy: .init(oid: [2, 5, 29, 36], critical: true, value: [0x30, 3, 0x80, 1, 0])
            case .unknown: .init(oid: [1, 2, 3, 4, 5], critical: true, value: [5, 0])
            }
        }
    }

    private static func certificate(
        _ name: String, _ key: P256.Signing.PublicKey, issuer: String, _ issuerKey: P256.Signing.PrivateKey, isAuthority: Bool,
        marker: Marker?, _ more: [CriticalExtension] = [], from: Date = now.addingTimeInterval(-86_400 * 30)
    ) throws -> Certificate {
        var extensions = try Certificate.Extensions {
            Critical(isAuthority ? BasicConstraints.isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority)
        }
        switch marker {
        case .leaf: try extensions.append(.init(oid: [1, 2, 840, 113635, 100, 6, 11, 1], critical: false, value: [5, 0]))
        case .intermediate: try extensions.append(.init(oid: [1, 2, 840, 113635, 100, 6, 2, 1], critical: false, value: [5, 0]))
        case nil: break
        }
        for critical in more { try extensions.append(critical.encoded) }
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key), notValidBefore: from,
            notValidAfter: from.addingTimeInterval(isAuthority ? 86_400 * 365 : 86_400),
            issuer: DistinguishedName { CommonName(issuer) }, subject: DistinguishedName { CommonName(name) },
            signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions, issuerPrivateKey: Certificate.PrivateKey(issuerKey))
    }

    package static func der(_ certificate: Certificate) throws -> [UInt8] { try certificate.serializeAsPEM().derBytes }

    /// A compact JWS of the payload.
    package func sign(_ payload: JSONValue, algorithm: String = "ES256", chain: [Certificate]? = nil) throws -> String {
        let certificates = try (chain ?? [leaf, intermediate, root]).map { JSONValue.string(Data(try Self.der($0)).base64EncodedString()) }
        let header: JSONValue = ["alg": .string(algorithm), "x5c": .array(certificates)]
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(payload.bytes)
        return text + "." + Base64URL.encode(try leafKey.signature(for: Data(text.utf8)).rawRepresentation)
    }

    /// A notification; nil for `transaction` leaves it out.
    package func body(
        _ type: String, subtype: String? = nil, id: String = "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
        transaction: [String: JSONValue]? = [:], renewal: [String: JSONValue] = [:], data: [String: JSONValue] = [:]
    ) throws -> [UInt8] {
        var fields: [String: JSONValue] = [
            "environment": "Production", "bundleId": "com.example.coach", "appAppleId": 1_234_567_890, "status": 1,
            "signedRenewalInfo": .string(try sign(object(["signedDate": .integer(Self.milliseconds)].merging(renewal) { $1 }))),
        ]
        if let transaction {
            fields["signedTransactionInfo"] = .string(try sign(object(Self.transaction.merging(transaction) { $1 })))
        }
        let payload: [String: JSONValue] = [
            "notificationType": .string(type), "subtype": subtype.map { .string($0) } ?? .null,
            "notificationUUID": .string(id), "version": "2.0", "signedDate": .integer(Self.milliseconds),
            "data": object(fields.merging(data) { $1 }),
        ]
        return Self.body(signedPayload: try sign(object(payload)))
    }

    package static func body(signedPayload: String) -> [UInt8] { (["signedPayload": .string(signedPayload)] as JSONValue).bytes }

    private static let transaction: [String: JSONValue] = [
        "transactionId": "2000", "originalTransactionId": "1000", "bundleId": "com.example.coach", "productId": "monthly",
        "type": "Auto-Renewable Subscription", "purchaseDate": .integer(milliseconds),
        "expiresDate": .integer(milliseconds + 30 * 86_400_000), "appAccountToken": "7F3D6C1E-0B7A-4F7E-9B1A-3C5D2E1F0A9B",
        "environment": "Production", "signedDate": .integer(milliseconds),
    ]

    private func object(_ fields: [String: JSONValue]) -> JSONValue {
        .object(fields.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
    }
}
