import CoachCore
import Foundation
import JSON

/// A certificate authority with the same chain as Apple's (three certificates), and notifications signed by it.
package struct SignedNotification: Sendable {
    package static let now = Date(timeIntervalSince1970: 1_767_225_600)
    package static let milliseconds: Int64 = 1_767_225_600_000

    // In distinguished encoding.
    package let root: [UInt8]
    package let intermediate: [UInt8]
    package let leaf: [UInt8]
    private let leafKey = SigningKey()

    /// - Parameters:
    ///   - hasAuthority: whether the intermediate certificate may sign others.
    ///   - validFrom: seconds before `now` at which the leaf becomes valid; it is valid for a day.
    ///   - intermediateExtensions: of the intermediate certificate, beside those that Apple's have; `leafExtensions` of the leaf.
    package init(
        hasLeafMarker: Bool = true, hasIntermediateMarker: Bool = true, hasAuthority: Bool = true, validFrom: TimeInterval = 3600,
        intermediateExtensions: [CriticalExtension] = [], leafExtensions: [CriticalExtension] = []
    ) {
        let (rootKey, intermediateKey) = (SigningKey(), SigningKey())
        let start = Self.now.addingTimeInterval(-86_400 * 30)
        let year = start..<start.addingTimeInterval(86_400 * 365)
        root = IssuedCertificate("Root", rootKey, issuer: "Root", rootKey, valid: year, [.basicConstraints(isAuthority: true)]).der
        intermediate =
            IssuedCertificate(
                "Intermediate", intermediateKey, issuer: "Root", rootKey, valid: year,
                [.basicConstraints(isAuthority: hasAuthority)]
                    + (hasIntermediateMarker ? [.init(identifier: "1.2.840.113635.100.6.2.1")] : [])
                    + intermediateExtensions.map(\.encoded)
            ).der
        let leafStart = Self.now.addingTimeInterval(-validFrom)
        leaf =
            IssuedCertificate(
                "Leaf", leafKey, issuer: "Intermediate", intermediateKey, valid: leafStart..<leafStart.addingTimeInterval(86_400),
                [.basicConstraints(isAuthority: false)] + (hasLeafMarker ? [.init(identifier: "1.2.840.113635.100.6.11.1")] : [])
                    + leafExtensions.map(\.encoded)
            ).der
    }

    /// A critical extension (RFC 5280 §4.2).
    package enum CriticalExtension: Sendable {
        /// The certificate policy 1.2.3.4.
        case policy
        /// Policy constraints: the certificates from here on must have a policy in common.
        case explicitPolicy
        /// One that nobody knows.
        case unknown

        fileprivate var encoded: IssuedCertificate.Extension {
            switch self {
            case .policy: .init(identifier: "2.5.29.32", isCritical: true, value: [0x30, 7, 0x30, 5, 6, 3, 0x2A, 3, 4])
            case .explicitPolicy: .init(identifier: "2.5.29.36", isCritical: true, value: [0x30, 3, 0x80, 1, 0])
            case .unknown: .init(identifier: "1.2.3.4.5", isCritical: true)
            }
        }
    }

    /// A compact JWS of the payload.
    package func sign(_ payload: JSONValue, algorithm: String = "ES256", chain: [[UInt8]]? = nil) -> String {
        let certificates = (chain ?? [leaf, intermediate, root]).map { JSONValue.string(Data($0).base64EncodedString()) }
        let header: JSONValue = ["alg": .string(algorithm), "x5c": .array(certificates)]
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(payload.bytes)
        return text + "." + Base64URL.encode(leafKey.signature(of: Array(text.utf8)))
    }

    /// A notification; nil for `transaction` leaves it out.
    package func body(
        _ type: String, subtype: String? = nil, id: String = "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
        transaction: [String: JSONValue]? = [:], renewal: [String: JSONValue] = [:], data: [String: JSONValue] = [:]
    ) -> [UInt8] {
        var fields: [String: JSONValue] = [
            "environment": "Production", "bundleId": "com.example.coach", "appAppleId": 1_234_567_890, "status": 1,
            "signedRenewalInfo": .string(sign(object(["signedDate": .integer(Self.milliseconds)].merging(renewal) { $1 }))),
        ]
        if let transaction {
            fields["signedTransactionInfo"] = .string(sign(object(Self.transaction.merging(transaction) { $1 })))
        }
        let payload: [String: JSONValue] = [
            "notificationType": .string(type), "subtype": subtype.map { .string($0) } ?? .null,
            "notificationUUID": .string(id), "version": "2.0", "signedDate": .integer(Self.milliseconds),
            "data": object(fields.merging(data) { $1 }),
        ]
        return Self.body(signedPayload: sign(object(payload)))
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
