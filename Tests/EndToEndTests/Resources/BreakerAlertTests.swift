import Foundation
import TestSupport
import Testing

@Suite("Alerts of providers", .paced)
struct BreakerAlertTests {
    @Test("a provider that fails opens its breaker: an alert fires and is resolved when it answers again")
    func breaker() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let editor = TestUser(gateway: gateway, role: "operator")
        func get(_ path: String) async throws -> [JSONObject] {
            try await editor.browser.send("GET", "/api/v1/operator/\(path)").json.objects("data")
        }
        func breakers() async throws -> [String?] { try await get("providers/health").map { $0["breaker"] } }
        try await eventually(within: .seconds(60), "the first reading") {
            try await !database.rows("select 1 as one from gateway.circuits() where state = 'closed'").isEmpty
        }
        // Each turn has several attempts, of which none is answered.
        for _ in 0..<5 { _ = try await gateway.testUser().chat("Hello \(sim(["http_error": ["status": 500]]))") }
        try await database.wait(forAlert: "breaker-open", isFiring: true)
        #expect(try await get("alerts?state=firing").contains { $0["rule"] == "breaker-open" })
        #expect(try await breakers().contains { $0 == "open" || $0 == "half_open" })
        #expect(try await get("measures").first { $0["measure"] == "open_circuits" }?.number("value") == 1)
        #expect(try await get("measures").first { $0["measure"] == "webhook_lag_seconds" }?.number("value") == 0)
        expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 3]))"))
        try await database.wait(forAlert: "breaker-open", isFiring: false)
        #expect(try await get("alerts?state=resolved").contains { $0["rule"] == "breaker-open" })
        #expect(try await breakers().allSatisfy { $0 == "closed" })
        #expect(try await get("providers?group_by=provider").first { $0["provider"] == "simulator" }?["breaker"] == "closed")
    }
}
