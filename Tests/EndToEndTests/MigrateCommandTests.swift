import Foundation
import TestSupport
import Testing

@Suite("The command migrate", .paced)
struct MigrateCommandTests {
    @Test("migrate sends a verifier: the password is neither in the statistics of statements nor in the server's log")
    func passwordOfTheRole() async throws {
        let cluster = try await ThrowawayCluster.start(settings: [
            "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_utility": "on", "log_statement": "all",
        ])
        let (database, password) = (try await FreshDatabase(at: cluster.url()), "kept-from-the-server-0123456789")
        try await database.psql("create extension pg_stat_statements schema public")
        let environment = ["COACH_MIGRATION_URL": database.url, "COACH_DATABASE_PASSWORD": password]
        try await Program.succeed(["migrate"], environment: environment)
        let role = try await database.psql("select rolpassword from pg_authid where rolname = 'coach_gateway'")
        #expect(role.hasPrefix("SCRAM-SHA-256$4096:"))
        let statements = try await database.psql("select string_agg(query, ' ') from public.pg_stat_statements")
        #expect(statements.localizedCaseInsensitiveContains("alter role coach_gateway") && !statements.contains(password))
        #expect(cluster.log.localizedCaseInsensitiveContains("alter role coach_gateway") && !cluster.log.contains(password))
    }

    @Test("migrate can be run repeatedly and concurrently, and seed repeatedly")
    func migrateTwice() async throws {
        let database = try await FreshDatabase()
        let environment = ["COACH_MIGRATION_URL": database.url]
        async let one = Program.run(["migrate"], environment: environment)
        async let two = Program.run(["migrate"], environment: environment)
        let both = try await [one, two]
        #expect(both.map(\.status) == [0, 0], "\(both)")
        #expect(both.count { $0.output.contains("applied 00001_initial_schema.sql") } == 1)
        let again = try await Program.run(["migrate"], environment: environment)
        #expect(again.status == 0 && again.output.contains("up to date"))
        for _ in 0..<2 { try await Program.succeed(["seed"], environment: environment) }
        #expect(try await database.psql("select count(*) from coaching_personas") == "3")
    }

    @Test("migrate, seed and reprice say whose connection they need, and change nothing with another one")
    func notTheOwner() async throws {
        let database = try await TestBed.shared().database
        let root = try Folder.copyOfRoot()
        try root.write("db/migrations/99999_more.sql", "create table gateway.more ();\n")
        let commands = [["migrate"], ["seed"], ["reprice", "--from", "2026-03-01", "--to", "2026-03-02"]]
        for arguments in commands {
            let gateway = try await Program.run(arguments, environment: ["DATABASE_URL": database.gatewayURL, "COACH_ROOT": root.path])
            #expect(gateway.status == 1, "\(gateway.output)")
            #expect(gateway.output.contains("DATABASE_URL: its role does not own the schema: set COACH_MIGRATION_URL"), "\(gateway.output)")
            #expect(!gateway.output.contains("changed"), "\(gateway.output)")
            let gone = try await Program.run(
                arguments, environment: ["COACH_MIGRATION_URL": "postgres://owner:secret-word@127.0.0.1:1/x"])
            #expect(gone.status == 1 && !gone.output.contains("secret-word"), "\(gone.output)")
            #expect(gone.output.contains("\(arguments[0]): COACH_MIGRATION_URL: nothing listens on this host and port"), "\(gone.output)")
        }
    }

    @Test("migrate with the gateway's role succeeds when there is nothing to do, as before serve on each instance")
    func nothingToMigrate() async throws {
        let database = try await TestBed.shared().database
        let output = try await Program.succeed(["migrate"], environment: ["DATABASE_URL": database.gatewayURL])
        #expect(output == "the database is up to date\n")
    }

    @Test("migrate reports an applied migration that was edited")
    func editedMigration() async throws {
        let database = try await FreshDatabase()
        let root = try Folder.copyOfRoot()
        let environment = ["COACH_MIGRATION_URL": database.url, "COACH_ROOT": root.path]
        try await Program.succeed(["migrate"], environment: environment)
        let name = "db/migrations/00003_usage_logs.sql"
        try root.write(name, try String(contentsOfFile: root.path + "/" + name, encoding: .utf8) + "\n-- changed\n")
        let (status, output) = try await Program.run(["migrate"], environment: environment)
        #expect(status != 0 && output.contains("00003_usage_logs"), "\(output)")
    }
}
