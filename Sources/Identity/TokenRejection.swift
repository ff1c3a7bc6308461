/// Why a caller was turned away. Says nothing that a forger could use, and holds nothing of the token.
public enum TokenRejection: Error, Hashable, Sendable, CaseIterable {
    /// No `Authorization` header, or one of another scheme.
    case missing
    /// Not three base64url parts, or header or payload are not JSON objects of the expected types.
    case malformed
    /// More than `TokenVerifier.maximumTokenByteCount` bytes.
    case tooLong
    /// `alg` is none, unknown, or not what the key is for; or a `crit` header asks for an extension.
    case algorithm
    /// No key of this `kid`.
    case unknownKey
    /// The signature does not belong to the text.
    case signature
    /// `exp` has passed.
    case expired
    /// `nbf` has not come.
    case notYetValid
    /// A token without `exp` would be valid for ever.
    case endless
    /// `aud` does not name this gateway.
    case audience
    /// `iss` is somebody else.
    case issuer
    /// `sub` is not a UUID.
    case subject
    /// Genuine, but its top-level `role` is not a user's.
    case forbidden

    /// The stable code of the API's error table.
    public var code: String {
        switch self {
        case .expired: "AUTH_1001"
        case .forbidden: "AUTH_1003"
        default: "AUTH_1002"
        }
    }

    /// For developers, in English.
    public var message: String {
        switch self {
        case .missing: "an Authorization header with a bearer token is required"
        case .malformed: "the token is malformed"
        case .tooLong: "the token is too long"
        case .algorithm: "the token's algorithm is not accepted"
        case .unknownKey: "the token was signed with an unknown key"
        case .signature: "the token's signature is wrong"
        case .expired: "the token has expired"
        case .notYetValid: "the token is not valid yet"
        case .endless: "the token has no expiry"
        case .audience: "the token is for another audience"
        case .issuer: "the token is from another issuer"
        case .subject: "the token's subject is not a user id"
        case .forbidden: "the token's role may not use this service"
        }
    }
}
