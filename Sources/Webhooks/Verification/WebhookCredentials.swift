import OpenSSLCrypto

/// What a RevenueCat webhook must present: a fixed `Authorization` header, a signature, or both when both are configured.
public struct WebhookCredentials: Sendable {
    /// The hash of the header.
    private let authorization: [UInt8]?
    private let signature: WebhookSignature?

    /// - Parameters:
    ///   - authorization: the whole value of the header as the sender's dashboard has it; nil or empty when not configured.
    ///   - secrets: signing secrets, more than one during a rotation; empty when not configured.
    public init(authorization: String?, secrets: [String]) {
        self.authorization = authorization.flatMap { $0.isEmpty ? nil : SHA256.hash(Array($0.utf8)) }
        signature = secrets.isEmpty ? nil : WebhookSignature(secrets: secrets)
    }

    /// False when nothing is configured; then no request can be verified.
    public var isConfigured: Bool { authorization != nil || signature != nil }

    /// Whether a request presents all that is configured. Compares in constant time.
    public func isValid(authorization header: String?, signature signatureHeader: String?, body: [UInt8], unixSeconds now: Int64) -> Bool {
        guard isConfigured else { return false }
        var isValid = true
        if let authorization {
            // Digests have one length, so that the comparison does not reveal that of the secret.
            isValid = ConstantTime.areEqual(SHA256.hash(Array((header ?? "").utf8)), authorization)
        }
        if let signature {
            isValid = signature.isValid(header: signatureHeader, body: body, unixSeconds: now) && isValid
        }
        return isValid
    }
}
