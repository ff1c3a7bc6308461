import Foundation
import PostgresClient

/// Applies the migrations of `db/migrations` to a database, and the settings of the gateway's role. Its client must connect as the owner of the tables, not
/// as the gateway's role.
///
/// Each file runs in its own transaction together with the row that records it, or outside a transaction when its first line requires that.
/// An advisory lock allows one migrator at a time. Idempotent.
public struct Migrator: Sendable {
    private let client: PostgresClient
    private let directory: URL
    private let lockTimeout: Duration
    private let attempts: Int
    private let fileTimeout: Duration

    /// - Parameters:
    ///   - lockTimeout: how long a file waits for a table lock. Short, because other statements wait behind it: a turn gives up after a second
    ///     (`repeatingContended`).
    ///   - attempts: how often a file is tried when it does not get a lock: for three minutes, most of which are pauses.
    ///   - fileTimeout: time limit of a file that runs in a transaction. The others have none: users do not wait for them, and a
    ///     `gateway.rebuild_rollups` that takes longer would begin anew at each attempt. Keepalives end a connection whose server is gone.
    public init(
        client: PostgresClient, directory: URL, lockTimeout: Duration = .milliseconds(200), attempts: Int = 200,
        fileTimeout: Duration = .seconds(3_600)
    ) {
        self.client = client
        self.directory = directory
        self.lockTimeout = lockTimeout
        self.attempts = attempts
        self.fileTimeout = fileTimeout
    }

    /// Applies the missing migrations and returns them. Throws `MigrationError`, or `PostgresError` when the database cannot be reached.
    @discardableResult
    public func migrate() async throws -> [MigrationFile] {
        let files = try MigrationFile.readAll(in: directory)
        let checksums = try await Self.checksums(of: files, at: client)
        return try await client.withConnection { lease in
            // No time limit, because a migration may take longer than a user's request.
            try await lease.execute("select set_config('statement_timeout', '0', false)")
            try await lock(lease)
            do {
                var done: [MigrationFile] = []
                while let file = try await applyNext(of: Array(zip(files, checksums)), on: lease) { done.append(file) }
                try await RoleSettings.apply(on: lease)
                try await unlock(lease)
                return done
            } catch {
                // An error is ignored: a lost connection holds no lock.
                try? await unlock(lease)
                throw error
            }
        }
    }

    /// Takes the advisory lock. Polls, because waiting inside PostgreSQL holds a snapshot, for which `create index concurrently` of the
    /// other migrator would wait.
    private func lock(_ lease: Lease) async throws {
        for attempt in 1...Self.lockAttempts {
            let isLocked = try await lease.query("select pg_try_advisory_lock(\(Self.lockKey))") { rows in
                try rows.only { row in try row.value(0, as: Bool.self) }
            }
            if isLocked { return }
            try await Self.pause(after: attempt)
        }
        throw MigrationError.busy
    }

    private func unlock(_ lease: Lease) async throws {
        try await lease.execute("select pg_advisory_unlock(\(Self.lockKey))")
        try await lease.execute("reset statement_timeout")
    }

    /// Returns the applied file, or nil when none is left.
    private func applyNext(of files: [(MigrationFile, String)], on lease: Lease) async throws -> MigrationFile? {
        let pending = try MigrationPlan.pending(files: files, applied: await Self.applied(on: lease))
        guard let file = pending.first, let checksum = files.first(where: { $0.0 == file })?.1 else { return nil }
        for attempt in 1...attempts {
            do {
                if file.runsOutsideTransaction {
                    try await applyByItself(file, checksum, on: lease)
                } else {
                    try await applyInTransaction(file, checksum, on: lease)
                }
                return file
            } catch let error as PostgresError where error.isLockTimeout || error.sqlState == SQLState.deadlock {
                // Before the next attempt, lets the statements run that waited behind this lock request.
                if attempt < attempts { try await Self.pause(after: attempt) }
            } catch let error as PostgresError where error.kind == .server {
                throw MigrationError.failed(file.fileName, reason: error.description)
            }
        }
        throw MigrationError.locked(file.fileName)
    }

    private func applyInTransaction(_ file: MigrationFile, _ checksum: String, on lease: Lease) async throws {
        try await lease.execute("begin")
        do {
            let milliseconds = Int64(lockTimeout / .milliseconds(1))
            try await lease.execute("select set_config('lock_timeout', \("\(milliseconds)ms"), true)")
            try await lease.execute(script: file.sql, deadline: fileTimeout)
            try await record(file, checksum, on: lease)
            try await lease.execute("commit")
        } catch {
            // If this fails too, the connection is closed, and the server rolls back.
            _ = try? await lease.execute("rollback")
            throw error
        }
    }

    private func applyByItself(_ file: MigrationFile, _ checksum: String, on lease: Lease) async throws {
        // Drops the invalid index that an interrupted attempt leaves, which is maintained but not used.
        let pending = try await lease.query(
            """
            select format('drop index concurrently %I.%I', n.nspname, c.relname)
            from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
            where not i.indisvalid and n.nspname in ('public', 'gateway') and strpos(\(file.sql), c.relname) > 0
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
        for leftover in pending { try await lease.execute(script: leftover) }
        try await lease.execute(script: file.sql)
        try await record(file, checksum, on: lease)
    }

    private func record(_ file: MigrationFile, _ checksum: String, on lease: Lease) async throws {
        try await lease.execute(
            """
            insert into gateway.schema_migrations (version, name, checksum) values (\(file.version), \(file.name), \(checksum))
            """)
    }

    /// Pauses for a time that grows up to a second, with jitter, so that two migrators do not collide again.
    private static func pause(after attempt: Int) async throws {
        try await Task.sleep(for: min(.milliseconds(50 * attempt), .seconds(1)) * Double.random(in: 0.5...1))
    }

    private static func applied(on lease: Lease) async throws -> [AppliedMigration] {
        // The first migration creates the table.
        let exists = try await lease.query("select to_regclass('gateway.schema_migrations') is not null") { rows in
            try rows.only { row in try row.value(0, as: Bool.self) }
        }
        guard exists else { return [] }
        return try await lease.query("select version, name, checksum from gateway.schema_migrations order by version") { rows in
            try rows.map { row in AppliedMigration(version: try row.value(0), name: try row.value(1), checksum: try row.value(2)) }
        }
    }

    /// The files' SHA-256, computed by PostgreSQL, so that this target needs no cryptography library.
    private static func checksums(of files: [MigrationFile], at client: PostgresClient) async throws -> [String] {
        try await client.query(
            """
            select encode(sha256(convert_to(sql, 'UTF8')), 'hex')
            from unnest(\(files.map(\.sql))::text[]) with ordinality as file (sql, place) order by place
            """
        ) { rows in try rows.map { row in try row.value(0) } }
    }

    /// An arbitrary number: "coach mi" as bytes.
    private static let lockKey: Int64 = 0x636f_6163_6820_6d69
    /// About five minutes.
    private static let lockAttempts = 400
}
