import CoachCore
import Foundation
import JSON

/// Creates access tokens for development. In production only the issuer (for example a Supabase project) creates them.
public enum DevelopmentTokens {
    /// Why no token was created.
    public enum CreationError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The configuration is for production, where only the issuer creates tokens.
        case production
        /// The lifetime is not between 1 s and 366 days.
        case lifetime

        public var description: String {
            switch self {
            case .production: "development tokens are not made with a production configuration (COACH_ENV=production)"
            case .lifetime: "the lifetime must be between one second and one year"
            }
        }
    }

    /// Creates an HS256 token in Supabase's format. A nil `role` is a user without a role.
    public static func mint(
        user: UserID, role: Role?, ttl: Duration, secret: SharedSecret, audience: String = TokenPolicy.defaultAudience,
        issuer: String? = nil, inProduction: Bool, now: Date
    ) throws(CreationError) -> String {
        guard !inProduction else { throw .production }
        guard ttl >= .seconds(1), ttl <= .seconds(366 * 86_400) else { throw .lifetime }
        let issuedAt = Int64(now.timeIntervalSince1970)
        let payload = JSONWriter.encode { json in
            json.object { json in
                json.key(literal: "app_metadata")
                json.object { json in if let role { json.member("role", role.rawValue) } }
                json.member("aud", audience)
                json.member("exp", issuedAt + ttl.components.seconds)
                json.member("iat", issuedAt)
                if let issuer { json.member("iss", issuer) }
                json.member("role", DatabaseClaims.userRole)
                json.member("sub", "\(user)")
            }
        }
        return sign(header: #"{"alg":"HS256","typ":"JWT"}"#, payload: String(decoding: payload, as: UTF8.self), secret: secret)
    }

    static func sign(header: String, payload: String, secret: SharedSecret) -> String {
        let text = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        return text + "." + Base64URL.encode(secret.sign(text.utf8))
    }
}
