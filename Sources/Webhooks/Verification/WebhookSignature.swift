import Foundation
import JSON
import OpenSSLCrypto

/// Checks and makes signatures with the secrets of one sender: a header `t=<unix seconds>,v1=<hex>[,v1=…]` with the HMAC-SHA256 of `"{t}.{raw body}"`.
/// RevenueCat and Stripe document this scheme. Several secrets and several `v1` allow a rotation. Other schemes in the header are ignored.
public struct WebhookSignature: Sendable {
    /// The permitted difference between the sender's clock and ours in seconds, in both directions.
    public static let tolerance: Int64 = 300
    /// A header has one `v1` for each secret that is valid during a rotation.
    private static let mostSignatures = 16

    private let secrets: [AuthenticationKey]

    /// The UTF-8 bytes of each secret are the key, a prefix such as `whsec_` included.
    public init(secrets: [String]) { self.secrets = secrets.map { AuthenticationKey($0.utf8) } }

    /// Whether the header signs the body at this time. Compares in constant time, and every signature with every secret.
    public func isValid(header: String?, body: [UInt8], unixSeconds now: Int64) -> Bool {
        guard let header, let parsed = Header(header), !parsed.signatures.isEmpty, parsed.signatures.count <= Self.mostSignatures
        else { return false }
        let (age, overflow) = now.subtractingReportingOverflow(parsed.seconds)
        guard !overflow, abs(age) <= Self.tolerance else { return false }
        var isValid = false
        for secret in secrets {
            let expected = Self.code(of: body, at: parsed.time, secret)
            for signature in parsed.signatures where ConstantTime.areEqual(expected, signature) { isValid = true }
        }
        return isValid
    }

    /// The header that signs the body at this time, with every secret.
    public func header(of body: [UInt8], unixSeconds now: Int64) -> String {
        let codes = secrets.map { "v1=" + Hexadecimal.encode(Self.code(of: body, at: "\(now)", $0)) }
        return (["t=\(now)"] + codes).joined(separator: ",")
    }

    private static func code(of body: [UInt8], at time: String, _ secret: AuthenticationKey) -> [UInt8] {
        secret.code(of: Array((time + ".").utf8) + body)
    }

    private struct Header {
        /// As sent, because the signature covers the text.
        let time: String
        let seconds: Int64
        let signatures: [[UInt8]]

        init?(_ header: String) {
            var times: [String] = []
            var signatures: [[UInt8]] = []
            for element in header.split(separator: ",") {
                let pair = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard pair.count == 2 else { continue }
                switch pair[0].trimmingCharacters(in: .whitespaces) {
                case "t": times.append(String(pair[1]))
                case "v1":
                    if let bytes = Hexadecimal.decode(pair[1].trimmingCharacters(in: .whitespaces).utf8), bytes.count == SHA256.byteCount {
                        signatures.append(bytes)
                    }
                default: break
                }
            }
            // A second time stamp would leave open which one was checked and which one was signed.
            guard times.count == 1, times[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(times[0]) else {
                return nil
            }
            time = times[0]
            self.seconds = seconds
            self.signatures = signatures
        }
    }
}
