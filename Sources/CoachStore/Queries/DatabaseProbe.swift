import CoachCore
import Foundation
import PostgresClient

/// Reads the schema version, and the rights and settings of the gateway's role, for readiness and `check`.
public struct DatabaseProbe: Sendable {
    public struct Report: Sendable, Equatable {
        /// The newest migration of the database; nil when it has none.
        public var schemaVersion: String?
        /// The oldest gateways that the schema supports, by their newest migration.
        public var minimumVersion: String?
        /// The login role.
        public var role: String
        /// Whether the role ignores row-level security (a superuser, or BYPASSRLS), so that the database does not separate users.
        public var bypassesRowSecurity: Bool
        /// Whether the role is a member of `authenticated`.
        public var canActAsUser: Bool
        /// Whether the server takes no writes, as a standby.
        public var isReadOnly: Bool
        /// Settings of the gateway's role that the session has with another value.
        public var differingSettings: [String] = []

        /// Why a release with `needed` as its newest migration cannot work with this schema; nil when it can.
        public func schemaFinding(needed: String) -> String? {
            let found = schemaVersion ?? "none"
            if found == "none" || found < needed {
                return "database: its schema (\(found)) is older than this release needs (\(needed)): run 'coach-gateway migrate'"
            }
            if found > needed, let minimumVersion, minimumVersion > needed {
                return """
                    database: its schema (\(found)) supports releases from \(minimumVersion) on, this one is \(needed): run a newer release
                    """
            }
            return nil
        }

        /// Which settings of the gateway's role the session lacks; nil when it has all.
        public var settingsFinding: String? {
            guard !differingSettings.isEmpty else { return nil }
            return """
                database: role \(role) lacks settings (\(differingSettings.joined(separator: ", "))), as after a dump was restored: \
                run 'coach-gateway migrate' and restart the gateways
                """
        }
    }

    private let client: PostgresClient

    public init(client: PostgresClient) {
        self.client = client
    }

    /// Two short round trips. Throws `PostgresError`; its `connectionFailure` explains a missing connection.
    public func report(deadline: Duration? = nil) async throws -> Report {
        var report = try await client.query(
            """
            select current_user::text, rolsuper or rolbypassrls,
                coalesce((select pg_has_role(current_user, r.oid, 'member') from pg_roles r where r.rolname = 'authenticated'), false),
                current_setting('transaction_read_only')::boolean, \(RoleSettings.differing)
            from pg_roles where rolname = current_user
            """, deadline: deadline
        ) { rows in
            try rows.only { row in
                Report(
                    schemaVersion: nil, minimumVersion: nil, role: try row.value(0), bypassesRowSecurity: try row.value(1),
                    canActAsUser: try row.value(2), isReadOnly: try row.value(3), differingSettings: try row.value(4))
            }
        }
        do {
            (report.schemaVersion, report.minimumVersion) = try await client.query(
                "select max(version), (select version from gateway.schema_minimum) from gateway.schema_migrations", deadline: deadline
            ) { rows in try rows.only { row in (try row.value(0), try row.value(1)) } }
        } catch let error as PostgresError where SQLState.missing.contains(error.sqlState ?? "") {
            // The table or schema does not exist or is not readable: the database is not migrated.
        }
        return report
    }

    /// Whether row-level security keeps rows of users from this role, which then is no owner of the schema. False before the first migration.
    public func isRestricted() async throws -> Bool {
        try await client.query(
            "select coalesce(bool_or(row_security_active(oid)), false) from pg_class where oid = to_regclass('public.usage_logs')"
        ) { rows in try rows.only { row in try row.value(0, as: Bool.self) } }
    }

    /// The newest version among the files, to compare with a report. Throws `MigrationError`.
    public static func newestVersion(in directory: URL) throws -> String {
        guard let newest = try MigrationFile.readAll(in: directory).last else { throw MigrationError.unreadable(directory.path) }
        return newest.version
    }
}
