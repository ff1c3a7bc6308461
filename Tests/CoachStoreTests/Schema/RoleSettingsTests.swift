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
}
