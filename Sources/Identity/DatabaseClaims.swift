import CoachCore

/// The claims that PostgreSQL sees as `request.jwt.claims`: the same three that its policies read, in a canonical spelling and
/// without e-mail or metadata, so that nothing personal reaches the database's logs.
enum DatabaseClaims {
    /// JSON with sorted keys. `app_metadata` is absent for plain users; `roles` appears only when there is more than one, and
    /// `role` is then the first of them by name.
    static func json(user: UserID, roles: Set<Role>) -> String {
        // Every value is from a closed alphabet (UUID, raw values of an enum): nothing to escape.
        let names = roles.map { "\"\($0.rawValue)\"" }.sorted()
        var metadata = ""
        if let first = names.first {
            let all = names.count > 1 ? ",\"roles\":[\(names.joined(separator: ","))]" : ""
            metadata = "\"app_metadata\":{\"role\":\(first)\(all)},"
        }
        return "{\(metadata)\"role\":\"authenticated\",\"sub\":\"\(user)\"}"
    }
}
