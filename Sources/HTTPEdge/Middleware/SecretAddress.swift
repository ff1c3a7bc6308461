import HTTPTypes

/// Addresses under `/p/` have the token of a share link, which is a secret: it must leave neither in a referrer nor in a search engine, whatever the
/// answer is (CONTRACT §5).
enum SecretAddress {
    static func write(to fields: inout HTTPFields, path: String) {
        // The router ignores further slashes.
        guard path.drop(while: { $0 == "/" }).hasPrefix("p/") else { return }
        fields[.referrerPolicy] = "no-referrer"
        fields[.robotsTag] = "noindex"
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = Self("Referrer-Policy")!
    fileprivate static let robotsTag = Self("X-Robots-Tag")!
}
