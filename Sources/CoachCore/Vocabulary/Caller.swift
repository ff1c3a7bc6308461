import Foundation

/// A right of a caller beyond those of a user. Neither role includes the other (CONTRACT §3).
public enum Role: String, Hashable, Sendable, CaseIterable {
    case creator
    case `operator`
}

/// The authenticated sender of a request.
public struct Caller: Sendable, Equatable {
    /// The token's `sub`.
    public let userID: UserID
    /// From `app_metadata.role` only, because users can write `user_metadata`. nil for a plain user.
    public let role: Role?
    /// Canonical JSON for the database setting `request.jwt.claims`: `sub`, `role` and `app_metadata.role`, no personal data.
    public let claims: String
    /// The token's `exp`.
    public let expiresAt: Date

    /// For `Identity` only, after it verified the token.
    public init(userID: UserID, role: Role? = nil, claims: String, expiresAt: Date) {
        self.userID = userID
        self.role = role
        self.claims = claims
        self.expiresAt = expiresAt
    }
}
