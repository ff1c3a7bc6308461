import Foundation

/// What a caller may do besides being a user. Roles do not nest (CONTRACT §3).
public enum Role: String, Hashable, Sendable, CaseIterable {
    case creator
    case `operator`
}

/// Somebody whose token was verified.
public struct Caller: Sendable, Equatable {
    /// The token's `sub`.
    public let userID: UserID
    /// From `app_metadata.role` only; users can write `user_metadata`. nil: a user and no more.
    public let role: Role?
    /// Canonical JSON for `request.jwt.claims`: `sub`, `role` and `app_metadata.role`, nothing personal.
    public let claims: String
    /// The token's `exp`.
    public let expiresAt: Date

    /// Made by `Identity` alone, after verification.
    public init(userID: UserID, role: Role? = nil, claims: String, expiresAt: Date) {
        self.userID = userID
        self.role = role
        self.claims = claims
        self.expiresAt = expiresAt
    }
}
