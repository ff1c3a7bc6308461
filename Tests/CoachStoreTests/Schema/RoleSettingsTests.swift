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
