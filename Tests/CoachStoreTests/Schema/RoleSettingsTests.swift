import CoachStore
import PostgresClient
import Reactor
import TestSupport
import Testing

@Suite struct RoleSettingsTests {
    @Test("the gateway's role has its time limits, and no JIT, also when no start-up options arrive")
    func limits() async throws {
        let store = try await StoreFixture.shared()
        let reactor = try Reactor(name: "role-settings")
        reactor.start()
        let url = try Project.url(store.database.url, user: "coach_gateway")
        let client = StoreFixture.client(url, reactor, statements: .unnamed)
        var found: [String: String] = [:]
        for name in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "jit"] {
            found[name] = try await client.query("select current_setting(\(name))") { rows in try rows.only { try $0.value(0) } }
        }
        #expect(found == ["statement_timeout": "2s", "lock_timeout": "1s", "idle_in_transaction_session_timeout": "10s", "jit": "off"])
        await client.shutdown(grace: .zero)
        reactor.stop()
    }

    @Test("settings that a restored dump came without are a finding, and the next run of the migrator sets them")
    func restored() async throws {
        let store = try await StoreFixture()
        let reactor = try Reactor(name: "restored-role-settings")
        reactor.start()
        defer { reactor.stop() }
        let url = try Project.url(store.database.url, user: "coach_gateway")
        /// Of a session that begins now.
        func report() async throws -> DatabaseProbe.Report {
            let client = StoreFixture.client(url, reactor, statements: .unnamed)
            let report = try await DatabaseProbe(client: client).report()
            await client.shutdown(grace: .zero)
            return report
        }
        #expect(try await report().settingsFinding == nil)
        try await store.admin.execute(
            "do $$ begin execute format('alter role coach_gateway in database %I reset all', current_database()); end $$")
        let lost = try await report()
        #expect(Set(lost.differingSettings).isSuperset(of: ["idle_in_transaction_session_timeout", "lock_timeout"]))
        #expect(lost.settingsFinding?.contains("lock_timeout") == true)
        #expect(try await Migrator(client: store.admin, directory: Project.migrations).migrate().isEmpty)
        #expect(try await report().differingSettings == [])
        let settings: Query = """
            select count(*) from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase cross join unnest(s.setconfig)
            where d.datname = current_database()
            """
        #expect(try await store.count(settings) == 6)
    }

    @Test("the gateway's role has days of UTC as lists and cursors have them, whatever style and time zone the database has")
    func days() async throws {
        let store = try await StoreFixture()
        for setting in ["datestyle = German", "timezone = ''Europe/Berlin''"] {
            let statement = "do $$ begin execute format('alter database %I set \(setting)', current_database()); end $$"
            try await store.admin.execute(Query(unsafeSQL: statement))
        }
        // Its connections begin after that.
        let client = try store.anotherGateway()
        let day = try await client.query("select concat('2026-03-01'::date, ' ', current_setting('timezone'))") { rows in
            try rows.only { row in try row.value(0, as: String.self) }
        }
        #expect(day == "2026-03-01 UTC")
        await client.shutdown(grace: .zero)
    }
}
