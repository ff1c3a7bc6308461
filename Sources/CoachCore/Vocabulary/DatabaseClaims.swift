/// Makes the value of PostgreSQL's setting `request.jwt.claims`: only the three claims that its policies read, without e-mail or other
/// metadata, so that no personal data reaches the database's logs.
public enum DatabaseClaims {
    /// The claim `role` of every user's token, which is also the name of their role in the database (Supabase's).
    public static let userRole = "authenticated"

    /// The claims as JSON with sorted keys. `app_metadata` is absent for users without a role.
    public static func json(user: UserID, role: Role?) -> String {
        // UUIDs and the raw values of `Role` contain no characters that need an escape.
        let metadata = role.map { "\"app_metadata\":{\"role\":\"\($0.rawValue)\"}," } ?? ""
        return "{\(metadata)\"role\":\"\(userRole)\",\"sub\":\"\(user)\"}"
    }
}
