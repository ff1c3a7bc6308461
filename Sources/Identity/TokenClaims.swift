import CoachCore
import Foundation

/// What the gateway reads of a payload whose signature was checked. Everything else, e-mail and `user_metadata` above all,
/// is not even decoded.
struct TokenClaims: Decodable {
    let subject: String?
    let audience: [String]
    let issuer: String?
    let role: String?
    /// Unix seconds.
    let expiresAt: Double?
    /// Unix seconds.
    let notBefore: Double?
    let roles: Set<Role>

    private enum CodingKeys: String, CodingKey {
        case subject = "sub"
        case audience = "aud"
        case issuer = "iss"
        case role
        case expiresAt = "exp"
        case notBefore = "nbf"
        case appMetadata = "app_metadata"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        subject = try fields.decodeIfPresent(String.self, forKey: .subject)
        issuer = try fields.decodeIfPresent(String.self, forKey: .issuer)
        role = try fields.decodeIfPresent(String.self, forKey: .role)
        expiresAt = try fields.decodeIfPresent(Double.self, forKey: .expiresAt)
        notBefore = try fields.decodeIfPresent(Double.self, forKey: .notBefore)
        audience = try fields.decodeIfPresent(Audience.self, forKey: .audience)?.names ?? []
        // Strange metadata gives no role; it is no reason to lock a user out.
        roles = (try? fields.decodeIfPresent(AppMetadata.self, forKey: .appMetadata))?.roles ?? []
    }

    init(payload: [UInt8]) throws(TokenRejection) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(payload))
        } catch {
            throw .malformed
        }
    }
}

/// `aud`: one name or a list of names (RFC 7519 §4.1.3). JWTKit's own type stops the process on an empty list.
private struct Audience: Decodable {
    let names: [String]

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let name = try? value.decode(String.self) {
            names = [name]
        } else {
            names = try value.decode([String].self)
        }
    }
}

/// The part of a token that only the issuer's administrators write: `role`, and `roles` for issuers that give several.
private struct AppMetadata: Decodable {
    let roles: Set<Role>

    private enum CodingKeys: String, CodingKey { case role, roles }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let one = (try? fields.decodeIfPresent(String.self, forKey: .role)).map { [$0] } ?? []
        let several = (try? fields.decodeIfPresent([String].self, forKey: .roles)) ?? []
        roles = Set((one + several).compactMap(Role.init(rawValue:)))
    }
}
