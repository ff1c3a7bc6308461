import CoachCore

/// The claims that PostgreSQL sees as `request.jwt.claims`: the same three that its policies read, in a canonical spelling and
/// without e-mail or metadata, so that nothing personal reaches the database's logs.
enum DatabaseClaims {
    /// JSON with sorted keys. `app_metadata` is absent for plain users.
    static func json(user: UserID, role: Role?) -> String {
        // Every value is from a closed alphabet (UUID, raw values of an enum): nothing to escape.
        let metadata = role.map { "\"app_metadata\":{\"role\":\"\($0.rawValue)\"}," } ?? ""
        return "{\(metadata)\"role\":\"authenticated\",\"sub\":\"\(user)\"}"
    }
}
