import CoachCore
import Foundation

/// Tokens for trying things out. The real ones come from the project that owns the users.
public enum DevelopmentTokens {
    /// Why no token was made.
    public enum Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// In production nobody but the issuer makes users.
        case production
        /// The lifetime is not between 1 s and a year.
        case lifetime

        public var description: String {
            switch self {
            case .production: "development tokens are not made with a production configuration (COACH_ENV=production)"
            case .lifetime: "the lifetime must be between one second and one year"
            }
        }
    }

    /// An HS256 token as Supabase would issue it. `role` nil is a plain user.
    public static func mint(
        user: UserID, role: Role?, ttl: Duration, secret: SharedSecret, audience: String = "authenticated", issuer: String? = nil,
        inProduction: Bool, now: Date
    ) throws(Refusal) -> String {
        guard !inProduction else { throw .production }
        guard ttl >= .seconds(1), ttl <= .seconds(366 * 86_400) else { throw .lifetime }
        let issuedAt = Int64(now.timeIntervalSince1970)
        let payload = Payload(
            aud: audience, exp: issuedAt + ttl.components.seconds, iat: issuedAt, iss: issuer, sub: "\(user)",
            app_metadata: role.map { ["role": $0.rawValue] } ?? [:])
        return sign(header: #"{"alg":"HS256","typ":"JWT"}"#, payload: payload.json, secret: secret)
    }

    static func sign(header: String, payload: String, secret: SharedSecret) -> String {
        let text = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        return text + "." + Base64URL.encode(secret.sign(text.utf8))
    }

    private struct Payload: Encodable {
        let aud: String
        let exp: Int64
        let iat: Int64
        let iss: String?
        let sub: String
        let role = "authenticated"
        let app_metadata: [String: String]

        /// Strings and integers always encode; were that ever untrue, an empty payload makes a token that nobody accepts.
        var json: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }
}
