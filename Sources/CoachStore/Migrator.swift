import Foundation
import PostgresClient

/// Brings a database to the state of `db/migrations`. Connects as the owner of the tables, not as the gateway's role.
///
/// Each file runs in a transaction of its own, together with the row that records it, under an advisory lock: of two starters one waits and
/// then finds the work done. Running it again does nothing.
public struct Migrator: Sendable {
    private let client: PostgresClient
    private let directory: URL

    public init(client: PostgresClient, directory: URL) {
        self.client = client
        self.directory = directory
    }

    /// Applies what is missing and returns it. Throws `MigrationError`, or `PostgresError` when the database cannot be reached.
    @discardableResult
    public func migrate() async throws -> [MigrationFile] {
        let files = try MigrationFile.readAll(in: directory)
        let checksums = try await Self.checksums(of: files, at: client)
        var done: [MigrationFile] = []
        while let file = try await applyNext(of: Array(zip(files, checksums))) { done.append(file) }
        return done
    }

    /// What `migrate` would apply. Throws as `migrate` does.
    public func pending() async throws -> [MigrationFile] {
        let files = try MigrationFile.readAll(in: directory)
        let checksums = try await Self.checksums(of: files, at: client)
        let applied = try await client.withConnection { try await Self.applied(on: $0) }
        return try MigrationPlan.pending(files: Array(zip(files, checksums)), applied: applied)
    }

    /// One file, or nil when there is none left.
    private func applyNext(of files: [(MigrationFile, String)]) async throws -> MigrationFile? {
        try await client.withTransaction { lease in
            // A migration may take longer than any request of a user.
            try await lease.execute("select set_config('statement_timeout', '0', true)")
            try await lease.execute("select pg_advisory_xact_lock(\(Self.lockKey))", deadline: Self.patience)
            let pending = try MigrationPlan.pending(files: files, applied: await Self.applied(on: lease))
            guard let file = pending.first, let checksum = files.first(where: { $0.0 == file })?.1 else { return nil }
            do {
                try await lease.execute(script: file.sql)
            } catch let error as PostgresError where error.kind == .server {
                throw MigrationError.failed(file.fileName, reason: error.description)
            }
            try await lease.execute(
                """
                insert into gateway.schema_migrations (version, name, checksum)
                values (\(file.version), \(file.name), \(checksum))
                """)
            return file
        }
    }

    private static func applied(on lease: Lease) async throws -> [AppliedMigration] {
        // The table is made by the first migration.
        let exists = try await lease.query("select to_regclass('gateway.schema_migrations') is not null") { rows in
            try rows.only { row in try row.value(0, as: Bool.self) }
        }
        guard exists else { return [] }
        return try await lease.query("select version, name, checksum from gateway.schema_migrations order by version") { rows in
            try rows.map { row in AppliedMigration(version: try row.value(0), name: try row.value(1), checksum: try row.value(2)) }
        }
    }

    /// PostgreSQL computes them, so that no cryptography is needed here.
    private static func checksums(of files: [MigrationFile], at client: PostgresClient) async throws -> [String] {
        try await client.query(
            """
            select encode(sha256(convert_to(sql, 'UTF8')), 'hex')
            from unnest(\(files.map(\.sql))::text[]) with ordinality as file (sql, place) order by place
            """
        ) { rows in try rows.map { row in try row.value(0) } }
    }

    /// Any number that nobody else uses: "coach mi" as bytes.
    private static let lockKey: Int64 = 0x636f_6163_6820_6d69
    /// How long a second starter waits for the first.
    private static let patience = Duration.seconds(300)
}
