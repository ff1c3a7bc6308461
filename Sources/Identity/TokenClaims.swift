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
        let fields = try TokenFields(json: payload)
        subject = try fields.string("sub")
        issuer = try fields.string("iss")
        role = try fields.string("role")
        expiresAt = try fields.number("exp")
        notBefore = try fields.number("nbf")
        audience = try Self.audience(fields["aud"])
        appRole = fields["app_metadata"]?["role"]?.string.flatMap(Role.init(rawValue:))
    }

    /// Decodes `aud`: one name or a list of names (RFC 7519 §4.1.3).
    private static func audience(_ claim: JSONValue?) throws(TokenRejection) -> [String] {
        guard let claim else { return [] }
        guard let names = claim.string.map({ [$0] }) ?? claim.strings else { throw .malformed }
        return names
    }
}
