import TestSupport
import Testing

@Suite("A migration while gateways serve", .timeLimit(.minutes(5)))
struct MigrationUnderLoadTests {
    @Test("no turn fails while a newer release migrates; a schema that no longer supports the gateway makes it unready")
    func underLoad() async throws {
        // A new database, because the test makes its schema incompatible.
        async let simulator = Simulator()
        let database = try await Database.ofItsOwn()
        let (provider, url) = (try await simulator, database.gatewayURL)
        let gateway = try await Gateway(database: url, simulator: provider.url)
        let root = try Folder.copyOfRoot()
        try root.write(
            "db/migrations/99998_column.sql",
            "alter table public.messages add column extra text; alter table public.conversations add column extra integer default 1;")
        try root.write(
            "db/migrations/99999_index.sql",
            "-- migrate: no transaction\ncreate index concurrently if not exists idx_messages_extra on public.messages (user_id, created_at);"
        )
        let migrating = Task {
            try await Program.succeed(
                ["migrate"], environment: ["COACH_MIGRATION_URL": database.ownerURL, "COACH_ROOT": root.path])
        }
        let turns = try await withThrowingTaskGroup(of: Int.self) { group in
            for user in 0..<8 {
                group.addTask {
                    let testUser = gateway.testUser()
                    var done = 0
                    repeat {
                        let answer = try await testUser.chat("Message \(user) \(done) \(sim(["words": 5]))")
                        #expect(answer.eventTypes.last == "done", "\(answer.eventTypes)")
                        done += 1
                    } while try await database.rows("select version from gateway.schema_migrations where version = '99999'").isEmpty
                    return done
                }
            }
            return try await group.reduce(0, +)
        }
        _ = try await migrating.value
        #expect(turns >= 8)
        #expect(try await gateway.readiness() == 200)
        try await database.fresh.psql("update gateway.schema_minimum set version = '99999'")
        while try await gateway.readiness() == 200 { try await Task.sleep(for: .milliseconds(50)) }
    }
}
