import CoachCore
import Foundation

/// The requirements for the claims of a token whose signature is valid.
public struct TokenPolicy: Sendable {
    /// The `aud` that Supabase writes.
    public static let defaultAudience = "authenticated"

    /// The audience that the token's `aud` must contain.
    public var audience: String
    /// The issuer that the token's `iss` must equal; nil accepts any issuer, so that only the key decides.
    public var issuer: String?
    /// The permitted difference between the issuer's clock and ours in seconds, in both directions.
    public var leeway: TimeInterval

    /// Defaults: Supabase's audience, any issuer, 30 s.
    public init(audience: String = TokenPolicy.defaultAudience, issuer: String? = nil, leeway: TimeInterval = 30) {
        self.audience = audience
        self.issuer = issuer
        self.leeway = leeway
    }

    func caller(of claims: TokenClaims, now: Date) throws(TokenRejection) -> Caller {
        let seconds = now.timeIntervalSince1970
        guard let expiry = claims.expiresAt else { throw .noExpiry }
        // JSON numbers reach 1e308, but dates after the year 9999 cannot be formatted.
        guard expiry < 253_402_300_800 else { throw .malformed }
        guard seconds < expiry + leeway else { throw .expired }
        if let notBefore = claims.notBefore, seconds < notBefore - leeway { throw .notYetValid }
        // Checked before audience and subject, which Supabase's anonymous and service keys do not have: the error for those keys must say
        // that they do not belong to a user, not that they are malformed.
        guard claims.role == DatabaseClaims.userRole else { throw .forbidden }
        if let issuer, claims.issuer != issuer { throw .issuer }
        guard claims.audience.contains(audience) else { throw .audience }
        guard let user = claims.subject.flatMap({ UserID(validating: $0) }) else { throw .subject }
        return Caller(
            userID: user, role: claims.appRole, claims: DatabaseClaims.json(user: user, role: claims.appRole),
            expiresAt: Date(timeIntervalSince1970: expiry))
    }
}
