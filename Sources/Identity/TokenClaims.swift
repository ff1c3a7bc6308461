import CoachCore
import JSON

/// The claims that the gateway reads from a payload with a verified signature. Other claims, such as e-mail and `user_metadata`, are not
/// decoded.
struct TokenClaims {
    let subject: String?
    let audience: [String]
    let issuer: String?
    let role: String?
    /// Unix seconds.
    let expiresAt: Double?
    /// Unix seconds.
    let notBefore: Double?
    /// `app_metadata.role`, which only the issuer's administrators can set. Malformed metadata gives no role and does not reject the user.
    let appRole: Role?

    /// Throws `malformed` when one of these claims has another type.
    init(payload: [UInt8]) throws(TokenRejection) {
        do throws(JSONFinding) {
            let claims = try JSONReader(parsing: payload)
            subject = try claims.optional("sub")
            issuer = try claims.optional("iss")
            role = try claims.optional("role")
            expiresAt = try claims.optional("exp")
            notBefore = try claims.optional("nbf")
            audience = try Self.audience(claims)
            appRole = try claims.value("app_metadata")?["role"]?.string.flatMap(Role.init(rawValue:))
        } catch {
            throw .malformed
        }
    }

    /// Decodes `aud`: one name or a list of names (RFC 7519 §4.1.3).
    private static func audience(_ claims: JSONReader) throws(JSONFinding) -> [String] {
        if let name = try claims.value("aud")?.string { return [name] }
        return try claims.optional("aud") ?? []
    }
}
