import Foundation
import HTTPTestServers
import TestSupport
import Testing

@Suite("Alerts of webhooks", .patient)
struct WebhookLagTests {
    @Test("while the store's API hangs or fails, work for webhooks waits: an alert fires, and is resolved when the API answers")
    func lag() async throws {
        let (api, receiver, database) = (try StoreAPI(), try StoreAPI(), try await Database.ofItsOwn())
        try await receiver.answer("/alerts", "{}")
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: [
                "REVENUECAT_WEBHOOK_AUTH": "password", "REVENUECAT_API_KEY": "sk_test", "REVENUECAT_API_URL": api.url,
                "COACH_ALERT_WEBHOOK_URL": receiver.url + "/alerts", "COACH_ALERT_WEBHOOK_SECRET": "whsec_test",
            ])
        let editor = TestUser(gateway: gateway, role: "operator")
        func get(_ path: String) async throws -> [JSONObject] {
            try await editor.browser.send("GET", "/api/v1/operator/\(path)").json.objects("data")
        }
        let rules: [String: Any] = ["rules": [["id": "lag", "measure": "webhook_lag_seconds", "above": 2, "severity": "warning"]]]
        let saved = try await editor.send("PUT", "/api/v1/operator/alert-rules", ["body": rules], headers: ["If-Match": "*"])
        #expect(saved.status == 200, "\(saved.text)")

        // More subscribers than an instance asks for at once.
        let subscribers = (0..<8).map { _ in UUID().uuidString.lowercased() }
        for subscriber in subscribers { try await api.answer("/v1/subscribers/\(subscriber)", status: 201, "{}") }
        api.pause(true)
        defer { api.pause(false) }
        for subscriber in subscribers { try await receive(purchase(subscriber), by: gateway) }
        try await makeJobsDue(database, count: 8)
        try await database.wait(forAlert: "lag", isFiring: true)
        #expect(try await get("alerts?state=firing").map { $0["rule"] } == ["lag"])
        #expect(try await database.row("select value > 2 as is_above from gateway.alerts").flag("is_above") == true)
        #expect(try await get("alerts?state=resolved").isEmpty)

        api.pause(false)
        try await database.wait(forAlert: "lag", isFiring: false)
        #expect(try await get("alerts?state=firing").isEmpty)
        #expect(try await get("alerts?state=resolved").map { $0["rule"] } == ["lag"])
        #expect(try await get("measures").first { $0["measure"] == "webhook_lag_seconds" }?.number("value") == 0)
        try await eventually("both are sent") { try await receiver.requests().count == 2 }
        let states = try await receiver.requests().map { JSONObject($0.body).object("data")["state"] }
        #expect(states == ["firing", "resolved"])

        // One that fails is due again later with each retry, and its event gets older all the same.
        let failing = UUID().uuidString.lowercased()
        try await api.answer("/v1/subscribers/\(failing)", status: 500, "{}")
        try await receive(purchase(failing), by: gateway)
        try await makeJobsDue(database, count: 1)
        try await database.wait(forAlert: "lag", isFiring: true)
        try await api.answer("/v1/subscribers/\(failing)", status: 201, "{}")
        try await database.wait(forAlert: "lag", isFiring: false)
    }

    private func receive(_ event: String, by gateway: Gateway) async throws {
        let answer = try await Browser(port: gateway.port).send(
            "POST", "/functions/v1/webhook-revenuecat", body: Array(event.utf8), headers: ["Authorization": "password"])
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// The jobs are due a minute after their events; the test does not wait for it.
    private func makeJobsDue(_ database: Database, count: Int) async throws {
        try await eventually("the jobs") {
            let updated = try await database.fresh.psql(
                "update gateway.jobs set due_at = now() where kind = 'reconcile_subscriber' returning 1")
            return updated.split(separator: "\n").count == count
        }
    }

    private func purchase(_ subscriber: String) -> String {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        return """
            {"event":{"type":"INITIAL_PURCHASE","id":"\(subscriber)","event_timestamp_ms":\(now),\
            "app_user_id":"\(subscriber)","product_id":"monthly","entitlement_ids":["pro"],"purchased_at_ms":\(now),\
            "expiration_at_ms":\(now + 86_400_000),"store":"APP_STORE","environment":"PRODUCTION","transaction_id":"\(subscriber)",\
            "original_transaction_id":"\(subscriber)"}}
            """
    }
}
