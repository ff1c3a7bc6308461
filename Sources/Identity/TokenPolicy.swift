import CoachCore
import Foundation

/// What a genuine token must say to be somebody here.
public struct TokenPolicy: Sendable {
    /// One of the token's audiences must be this.
    public var audience: String
    /// The token's `iss` must be this; nil accepts any, because the key alone then decides whom to trust.
    public var issuer: String?
    /// How far the issuer's clock may differ from ours, in seconds, both ways.
    public var leeway: TimeInterval

    /// Audience and leeway default to Supabase's audience and 30 s.
    public init(audience: String = "authenticated", issuer: String? = nil, leeway: TimeInterval = 30) {
        self.audience = audience
        self.issuer = issuer
        self.leeway = leeway
    }

    func caller(of claims: TokenClaims, now: Date) throws(TokenRejection) -> Caller {
        let seconds = now.timeIntervalSince1970
        guard let expiry = claims.expiresAt else { throw .endless }
        // Beyond the year 9999 no date can be written, and JSON numbers reach 1e308.
        guard expiry < 253_402_300_800 else { throw .malformed }
        guard seconds < expiry + leeway else { throw .expired }
        if let notBefore = claims.notBefore, seconds < notBefore - leeway { throw .notYetValid }
        // Before audience and subject: Supabase's anonymous and service keys have neither, and are to be told that they are
        // not a user's rather than that they are broken.
        guard claims.role == "authenticated" else { throw .forbidden }
        if let issuer, claims.issuer != issuer { throw .issuer }
        guard claims.audience.contains(audience) else { throw .audience }
        guard let user = claims.subject.flatMap({ UserID(validating: $0) }) else { throw .subject }
        return Caller(
            userID: user, role: claims.appRole, claims: DatabaseClaims.json(user: user, role: claims.appRole),
            expiresAt: Date(timeIntervalSince1970: expiry))
    }
}
