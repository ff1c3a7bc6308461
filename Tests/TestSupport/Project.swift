import Foundation

/// The checkout's files, and URLs of its databases' roles.
public enum Project {
    public static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    public static let migrations = root.appendingPathComponent("db/migrations")
    public static let seed = root.appendingPathComponent("db/seed.sql")

    /// The same database for a role without a password, as in a cluster that trusts everybody.
    public static func url(_ url: String, user: String) throws -> String {
        guard var parts = URLComponents(string: url) else { throw URLError(.badURL) }
        parts.user = user
        parts.password = nil
        return parts.string ?? url
    }
}
