import CoachCore
import Foundation

extension Caller {
    /// The caller of a session that an operator's verified token opened, with the same claims as that token.
    public static func operatorSession(of userID: UserID, until expiresAt: Date) -> Caller {
        Caller(
            userID: userID, role: .operator, claims: DatabaseClaims.json(user: userID, role: .operator), expiresAt: expiresAt)
    }
}
