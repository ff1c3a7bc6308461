import CoachCore
import Foundation

/// Authenticates pushes of Google Cloud Pub/Sub by the OIDC token of their service account.
///
/// Any Google project can obtain a token with any audience, so that the account's e-mail address decides (facts: store webhooks §2).
public struct PushTokenVerifier: Sendable {
    /// The issuer's documents name it with and without the scheme.
    private static let issuers: Set<String> = ["accounts.google.com", "https://accounts.google.com"]
    private static let leeway: TimeInterval = 30

    private let verifier: TokenVerifier
    private let audience: String
    private let email: String

    /// - Parameters:
    ///   - audience: configured at the push subscription; by default its URL.
    ///   - email: of the service account that the push subscription uses.
    ///   - keySet: Google's, from `https://www.googleapis.com/oauth2/v3/certs`.
    public init(audience: String, email: String, keySet: KeySet) {
        verifier = TokenVerifier(policy: TokenPolicy(), secret: nil, keySet: keySet)
        self.audience = audience
        self.email = email
    }

    /// Throws unless the header has a valid token of the service account. Suspends only to reload the key set.
    public func authenticate(_ authorizationHeader: String?, now: Date) async throws(TokenRejection) {
        let fields = try TokenFields(json: await verifier.payloadWithCurrentKeys(authorizationHeader))
        let seconds = now.timeIntervalSince1970
        guard let expiry = try fields.number("exp") else { throw .noExpiry }
        guard seconds < expiry + Self.leeway else { throw .expired }
        if let issuedAt = try fields.number("iat"), seconds < issuedAt - Self.leeway { throw .notYetValid }
        guard let issuer = try fields.string("iss"), Self.issuers.contains(issuer) else { throw .issuer }
        guard try fields.string("aud") == audience else { throw .audience }
        guard try fields.string("email") == email, fields["email_verified"]?.bool == true else { throw .subject }
    }
}
