/// Why a token is not accepted. Contains nothing of the token and nothing that helps to forge one.
public enum TokenRejection: Error, Hashable, Sendable, CaseIterable {
    /// No `Authorization` header, or one of another scheme.
    case missing
    /// Not three base64url parts, or header or payload are not JSON objects of the expected types.
    case malformed
    /// More than `TokenVerifier.maximumTokenByteCount` bytes.
    case tooLong
    /// `alg` is `none`, unknown, or not the algorithm of the key; or a `crit` header requires an extension.
    case algorithm
    /// No key has this `kid`.
    case unknownKey
    /// The key set has never been loaded, so that the token may be valid.
    case keysNotLoaded
    /// The signature is wrong.
    case signature
    /// `exp` has passed.
    case expired
    /// `nbf` is in the future.
    case notYetValid
    /// `exp` is missing, so that the token would never expire.
    case noExpiry
    /// `aud` does not contain the configured audience.
    case audience
    /// `iss` is not the configured issuer.
    case issuer
    /// `sub` is not a UUID.
    case subject
    /// The token is valid, but its top-level `role` is not `authenticated`.
    case forbidden

    /// A description for developers.
    public var message: String {
        switch self {
        case .missing: "an Authorization header with a bearer token is required"
        case .malformed: "the token is malformed"
        case .tooLong: "the token is too long"
        case .algorithm: "the token's algorithm is not accepted"
        case .unknownKey: "the token was signed with an unknown key"
        case .keysNotLoaded: "the keys that verify tokens have not been loaded yet"
        case .signature: "the token's signature is wrong"
        case .expired: "the token has expired"
        case .notYetValid: "the token is not valid yet"
        case .noExpiry: "the token has no expiry"
        case .audience: "the token is for another audience"
        case .issuer: "the token is from another issuer"
        case .subject: "the token's subject is not a user id"
        case .forbidden: "the token's role may not use this service"
        }
    }
}
