import HTTPTypes

/// Adds `Referrer-Policy` and `X-Robots-Tag` to every response under `/p/`: the path has the token of a share link, a secret that must reach
/// neither other sites nor search engines (CONTRACT §5).
enum ShareLinkHeaders {
    static func write(to fields: inout HTTPFields, path: String) {
        guard path.isPath(below: "p") else { return }
        fields[.referrerPolicy] = "no-referrer"
        fields[.robotsTag] = "noindex"
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = Self("Referrer-Policy")!
    fileprivate static let robotsTag = Self("X-Robots-Tag")!
}
