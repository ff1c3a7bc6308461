import CoachCore
import Foundation
import JSON

/// Authenticates push requests of Google Cloud Pub/Sub by the OIDC token of their service account.
///
/// The e-mail address of the account must match, not only the audience: any Google project can obtain a token with any audience.
/// <https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions>
public struct PushTokenVerifier: Sendable {
    /// Google documents its issuer with and without the scheme.
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
        let claims = try Claims(payload: await verifier.payloadWithCurrentKeys(authorizationHeader))
        let seconds = now.timeIntervalSince1970
        guard let expiry = claims.expiresAt else { throw .noExpiry }
        guard seconds < expiry + Self.leeway else { throw .expired }
        if let issuedAt = claims.issuedAt, seconds < issuedAt - Self.leeway { throw .notYetValid }
        guard let issuer = claims.issuer, Self.issuers.contains(issuer) else { throw .issuer }
        guard claims.audience == audience else { throw .audience }
        guard claims.email == email, claims.isEmailVerified else { throw .subject }
    }

    private struct Claims {
        let expiresAt: Double?
        let issuedAt: Double?
        let issuer: String?
        let audience: String?
        let email: String?
        let isEmailVerified: Bool

        /// Throws `malformed` when one of these claims has another type.
        init(payload: [UInt8]) throws(TokenRejection) {
            do throws(JSONFinding) {
                let json = try JSONReader(parsing: payload)
                expiresAt = try json.optional("exp")
                issuedAt = try json.optional("iat")
                issuer = try json.optional("iss")
                audience = try json.optional("aud")
                email = try json.optional("email")
                isEmailVerified = try json.value("email_verified")?.bool ?? false
            } catch {
                throw .malformed
            }
        }
    }
}
