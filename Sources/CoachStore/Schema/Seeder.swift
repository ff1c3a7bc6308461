import Foundation
import PostgresClient

/// Runs `db/seed.sql`, which is idempotent. Connects as the owner of the tables.
public struct Seeder: Sendable {
    private let client: PostgresClient
    private let file: URL

    public init(client: PostgresClient, file: URL) {
        self.client = client
        self.file = file
    }

    /// Runs in one transaction. Throws `MigrationError` that names the file, or `PostgresError` when the database cannot be reached.
    public func seed() async throws {
        guard let sql = try? String(contentsOf: file, encoding: .utf8) else { throw MigrationError.unreadable(file.path) }
        do {
            try await client.withTransaction { lease in try await lease.execute(script: sql) }
        } catch let error as PostgresError where error.kind == .server {
            throw MigrationError.failed(file.lastPathComponent, reason: error.description)
        }
    }
}
