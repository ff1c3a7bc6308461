import Foundation
import Synchronization

/// A database for one test, dropped with this object.
public final class FreshDatabase: Sendable {
    /// Connects the superuser to the database.
    public let url: String
    /// The name of the database.
    public let name: String
    private let serverURL: String
    /// Without a query.
    private let idleSessions = Mutex<[PsqlSession]>([])

    /// An empty one on the server of `COACH_TEST_DATABASE_URL` (a superuser's URL), or else on a throw-away cluster that all tests of this
    /// process share.
    public convenience init() async throws { try await self.init(at: Self.sharedServer()) }

    /// On a given server; empty without a template, the name of a database that nobody is connected to.
    public init(at serverURL: String, template: String? = nil) async throws {
        name = "test_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
        self.serverURL = serverURL
        url = Self.replaceDatabase(of: serverURL, by: name)
        let create = "create database \(name) template \(template ?? "template1")"
        let settings = template.map { [Self.copySettings(of: $0, to: name)] } ?? []
        try await Command.run(try PostgresPrograms.path("psql"), Self.psql(serverURL, [create] + settings))
    }

    /// A copy of a database has its contents, but not what is set for a role in it.
    private static func copySettings(of template: String, to name: String) -> String {
        """
        do $$ declare role name; setting text; begin
            for role, setting in
                select r.rolname, unnest(s.setconfig) from pg_db_role_setting s
                join pg_database d on d.oid = s.setdatabase join pg_roles r on r.oid = s.setrole where d.datname = '\(template)'
            loop
                execute format('alter role %I in database %I set %I = %L',
                    role, '\(name)', split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1));
            end loop;
        end $$
        """
    }

    static func sharedServer() async throws -> String {
        if let url = ProcessInfo.processInfo.environment["COACH_TEST_DATABASE_URL"], !url.isEmpty { return url }
        return try await SharedCluster.cluster.value.url()
    }

    deinit {
        // Not awaited: the statement also ends connections that a test has left open.
        guard let psql = try? PostgresPrograms.path("psql") else { return }
        _ = try? ChildProcess([psql] + Self.psql(serverURL, ["drop database if exists \(name) with (force)"]))
    }

    /// Runs SQL with psql, outside of the code under test, in a session of its own.
    /// - Returns: the rows, fields separated by `|`.
    @discardableResult
    public func psql(_ sql: String) async throws -> String {
        try await Command.run(try PostgresPrograms.path("psql"), Self.psql(url, [sql]))
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The rows of one query without a semicolon, fields separated by `|`, in a session that other queries have used. Not for statements that
    /// change a session.
    public func query(_ sql: String) async throws -> [String] {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try self.rows(of: sql) }) }
        }
    }

    private func rows(of sql: String) throws -> [String] {
        while let session = idleSessions.withLock({ $0.popLast() }) {
            // A test may have stopped the server since.
            do { return try rows(of: sql, in: session) } catch is PsqlSession.Lost {}
        }
        return try rows(of: sql, in: PsqlSession(url))
    }

    private func rows(of sql: String, in session: PsqlSession) throws -> [String] {
        let rows = try session.lines(of: sql)
        idleSessions.withLock { $0.append(session) }
        return rows
    }

    private static func psql(_ url: String, _ statements: [String]) -> [String] {
        ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url] + statements.flatMap { ["-c", $0] }
    }

    private static func replaceDatabase(of url: String, by name: String) -> String {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), var parts = URLComponents(string: url) else {
            // Of repeated keywords the last one applies.
            return url + " dbname=\(name)"
        }
        parts.path = "/" + name
        return parts.string ?? url
    }
}

/// The cluster of all tests that do not stop their server.
enum SharedCluster {
    static let cluster = Task { try await ThrowawayCluster.start() }
}
