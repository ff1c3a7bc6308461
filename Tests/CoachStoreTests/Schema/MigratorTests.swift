import CoachCore
import Foundation
import PostgresClient
import Reactor
import TestSupport
import Testing

@testable import CoachStore

@Suite("Migrations")
struct MigratorTests {
    /// An empty database, a client of its owner, and a copy of the migrations that the test may change.
    private final class Fixture: Sendable {
        let database: FreshDatabase
        let client: PostgresClient
        let directory: URL
        private let reactor: Reactor

        init(_ files: [String: String]? = nil) async throws {
            database = try await FreshDatabase()
            reactor = try Reactor(name: "migrator-tests")
            reactor.start()
            client = StoreFixture.client(database.url, reactor)
            directory = FileManager.default.temporaryDirectory.appendingPathComponent("migrations-\(UUID().uuidString)")
            if let files {
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                for (name, sql) in files { try write(sql, to: name) }
            } else {
                try FileManager.default.copyItem(at: Project.migrations.resolvingSymlinksInPath(), to: directory)
            }
        }

        deinit {
            try? FileManager.default.removeItem(at: directory)
            let (client, reactor) = (client, reactor)
            Task {
                await client.shutdown(grace: .zero)
                reactor.stop()
            }
        }

        var migrator: Migrator { Migrator(client: client, directory: directory, lockTimeout: .milliseconds(50)) }

        func write(_ sql: String, to name: String) throws {
            try Data(sql.utf8).write(to: directory.appendingPathComponent(name))
        }

        func remove(_ name: String) throws {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(name))
        }
    }

    /// The minimal schema that the migrator needs.
    private static let first = """
        create schema gateway;
        create table gateway.schema_migrations (version text primary key, name text, checksum text, applied_at timestamptz default now());
        """
    /// Requests for locks that wait in this database; tests of others of the cluster run beside these.
    private static let waitingLocks = """
        select count(*) from pg_locks l join pg_database d on d.oid = l.database
        where d.datname = current_database() and not l.granted
        """

    @Test("all are applied in order, once; the second run finds nothing to do")
    func idempotent() async throws {
        let fixture = try await Fixture()
        let expected = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path).sorted()
        #expect(try await fixture.migrator.migrate().map(\.fileName) == expected)
        #expect(try await fixture.migrator.migrate().isEmpty)
        #expect(try await fixture.database.psql("select count(*) from gateway.schema_migrations") == "\(expected.count)")
        #expect(
            expected.prefix(6) == [
                "00001_initial_schema.sql", "00002_coaching_personas.sql", "00003_usage_logs.sql", "00004_rls_policies.sql",
                "00005_indexes.sql", "00006_push_tokens.sql",
            ])
    }

    @Test("of two concurrent migrators each file is applied by one")
    func twoStarters() async throws {
        let fixture = try await Fixture()
        async let one = fixture.migrator.migrate()
        async let two = fixture.migrator.migrate()
        let done = try await one + two
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path).sorted()
        #expect(done.map(\.fileName).sorted() == files)
    }

    @Test("an edited, a missing and an out-of-order file are errors, and nothing is applied")
    func mismatch() async throws {
        let fixture = try await Fixture(["00001_first.sql": Self.first, "00003_third.sql": "create table t ();"])
        try await fixture.migrator.migrate()
        try fixture.write("create table later ();", to: "00004_later.sql")

        try fixture.write("create table t (a int);", to: "00003_third.sql")
        let edited = await #expect(throws: MigrationError.edited("00003_third.sql")) { try await fixture.migrator.migrate() }
        #expect("\(try #require(edited))".contains("is to be recreated"))
        try fixture.remove("00003_third.sql")
        await #expect(throws: MigrationError.missing("00003_third.sql")) { try await fixture.migrator.migrate() }
        try fixture.write("create table t ();", to: "00003_third.sql")
        try fixture.write("select 1;", to: "00002_second.sql")
        await #expect(throws: MigrationError.outOfOrder("00002_second.sql", newest: "00003_third.sql")) {
            try await fixture.migrator.migrate()
        }
        #expect(try await fixture.database.psql("select to_regclass('later') is null") == "t")
        try fixture.remove("00002_second.sql")
        #expect(try await fixture.migrator.migrate().map(\.fileName) == ["00004_later.sql"])
    }

    @Test("a file that fails has no effect and is named in the error; those before it stay applied")
    func failure() async throws {
        let fixture = try await Fixture([
            "00001_first.sql": Self.first, "00002_bad.sql": "create table half (); create table half ();",
        ])
        let error = await #expect(throws: MigrationError.self) { try await fixture.migrator.migrate() }
        #expect("\(try #require(error))".hasPrefix("00002_bad.sql failed and had no effect"))
        #expect(try await fixture.database.psql("select to_regclass('half') is null, count(*) from gateway.schema_migrations") == "t|1")
    }

    @Test(
        "a file waits for a table for a short while only, so that nobody waits long behind it, and is tried again until the table is free")
    func lockTimeout() async throws {
        let fixture = try await Fixture(["00001_first.sql": Self.first, "00002_table.sql": "create table public.t (a int);"])
        try await fixture.migrator.migrate()
        try fixture.write("alter table public.t add column b int;", to: "00003_column.sql")
        let impatient = Migrator(client: fixture.client, directory: fixture.directory, lockTimeout: .milliseconds(20), attempts: 2)
        let migration = try await fixture.client.withTransaction { reader in
            try await reader.execute("select * from public.t")
            await #expect(throws: MigrationError.locked("00003_column.sql")) { try await impatient.migrate() }
            let migrator = fixture.migrator
            let migration = Task { try await migrator.migrate() }
            // It releases the request and retries: at times no statement waits for the table.
            var waits: [Bool] = []
            while !waits.contains(true) || waits.last == true {
                waits.append(try await fixture.database.psql(Self.waitingLocks) != "0")
            }
            return migration
        }
        #expect(try await migration.value.map(\.fileName) == ["00003_column.sql"])
    }

    @Test("turns begin while a file waits for a table that is in use")
    func turnsMeanwhile() async throws {
        let store = try await StoreFixture()
        let fixture = try await Fixture()
        try fixture.write("alter table public.turns add column b int;", to: "99999_column.sql")
        let migrator = Migrator(client: store.admin, directory: fixture.directory)
        let migration = try await store.admin.withTransaction { reader in
            try await reader.execute("select from public.turns")
            let migration = Task { try await migrator.migrate() }
            for _ in 0..<4 {
                try await eventually("a file that waits") { try await store.count(Query(unsafeSQL: Self.waitingLocks)) > 0 }
                try await store.turns().talk(.someone(), "Hello")
            }
            return migration
        }
        #expect(try await migration.value.map(\.fileName) == ["99999_column.sql"])
    }

    @Test("a marked file runs outside a transaction, also after an interrupted attempt left an invalid index")
    func outsideTransaction() async throws {
        let index = "-- migrate: no transaction\ncreate unique index concurrently if not exists idx_t_a on public.t (a);\n"
        let fixture = try await Fixture([
            "00001_first.sql": Self.first, "00002_table.sql": "create table public.t (a int); insert into public.t values (1), (1);",
            "00003_index.sql": index,
        ])
        let error = await #expect(throws: MigrationError.self) { try await fixture.migrator.migrate() }
        #expect("\(try #require(error))".hasPrefix("00003_index.sql failed"))
        let state = "select string_agg(indisvalid::text, ',') from pg_index where indexrelid = to_regclass('public.idx_t_a')"
        #expect(try await fixture.database.psql(state) == "false")
        try await fixture.database.psql("delete from public.t where ctid = '(0,1)'")
        async let one = fixture.migrator.migrate()
        async let two = fixture.migrator.migrate()
        #expect(try await (one + two).map(\.fileName) == ["00003_index.sql"])
        #expect(try await fixture.database.psql(state) == "true")
        // As when the process ended between the statement and its record.
        try await fixture.database.psql("delete from gateway.schema_migrations where version = '00003'")
        #expect(try await fixture.migrator.migrate().map(\.fileName) == ["00003_index.sql"])
        try fixture.write("-- migrate: no transaction\ncreate index concurrently idx_t_b on public.t (a);\n", to: "00004_index.sql")
        await #expect(throws: MigrationError.notRepeatable("00004_index.sql")) { try await fixture.migrator.migrate() }
    }

    @Test("a file outside a transaction has no time limit: one that makes figures anew would begin anew each time; the others have one")
    func timeLimit() async throws {
        let fixture = try await Fixture(["00001_first.sql": Self.first])
        try await fixture.migrator.migrate()
        let impatient = Migrator(client: fixture.client, directory: fixture.directory, fileTimeout: .milliseconds(20))
        let long = "-- migrate: no transaction\ndo $$ begin if exists (select) then perform pg_sleep(0.2); end if; end $$;\n"
        try fixture.write(long, to: "00002_long.sql")
        #expect(try await impatient.migrate().map(\.fileName) == ["00002_long.sql"])
        try fixture.write("select pg_sleep(60);\n", to: "00003_longer.sql")
        await #expect(throws: (any Error).self) { try await impatient.migrate() }
    }

    @Test(
        "a release works with its own schema and with newer ones that still support it",
        arguments: [
            (nil, nil, "older"), ("00019", "00010", "older"), ("00020", "00020", nil), ("00021", "00020", nil), ("00021", nil, nil),
            ("00021", "00021", "supports releases from 00021"),
        ] as [(String?, String?, String?)])
    func compatibility(found: String?, minimum: String?, finding: String?) {
        let report = DatabaseProbe.Report(
            schemaVersion: found, minimumVersion: minimum, role: "coach_gateway", bypassesRowSecurity: false, canActAsUser: true,
            isReadOnly: false)
        let answer = report.schemaFinding(needed: "00020")
        #expect(finding.map { answer?.contains($0) == true } ?? (answer == nil), "\(answer ?? "no finding")")
    }

    @Test("file names and versions are checked before anything is applied")
    func names() async throws {
        let misnamed = try await Fixture(["00001_first.sql": Self.first, "2_second.sql": ""])
        await #expect(throws: MigrationError.misnamed("2_second.sql")) { try await misnamed.migrator.migrate() }
        let twice = try await Fixture(["00001_a.sql": Self.first, "00001_b.sql": ""])
        await #expect(throws: MigrationError.duplicate(version: "00001")) { try await twice.migrator.migrate() }
        let empty = try await Fixture([:])
        await #expect(throws: MigrationError.unreadable(empty.directory.path)) { try await empty.migrator.migrate() }
    }

    @Test("the seed can be run again, and does not change edited rows")
    func seed() async throws {
        let fixture = try await Fixture()
        try await fixture.migrator.migrate()
        let seeder = Seeder(client: fixture.client, file: Project.seed)
        try await seeder.seed()
        try await fixture.database.psql(
            """
            update public.coaching_personas set name = 'Edited' where slug = 'maya-career';
            select gateway.publish_persona(user_id, id) from public.coaching_personas where slug = 'maya-career'
            """)
        try await seeder.seed()
        #expect(try await fixture.database.psql("select count(*) from public.published_personas") == "3")
        #expect(try await fixture.database.psql("select count(*) from public.published_personas where name = 'Edited'") == "1")
    }

    @Test("the probe reports the schema's version, the role, and whether it bypasses row-level security")
    func probe() async throws {
        let store = try await StoreFixture.shared()
        let report = try await DatabaseProbe(client: store.gateway).report()
        #expect(report.schemaVersion == (try DatabaseProbe.newestVersion(in: Project.migrations)))
        #expect(report.role == "coach_gateway" && !report.bypassesRowSecurity && report.canActAsUser && !report.isReadOnly)
        #expect(try await DatabaseProbe(client: store.admin).report().bypassesRowSecurity)

        let empty = try await Fixture([:])
        #expect(try await DatabaseProbe(client: empty.client).report().schemaVersion == nil)
    }
}
