import Foundation
import TestSupport
import Testing

@Suite("Texts of the dashboard", .paced)
struct DashboardTextTests {
    /// A text that an element of a view comes to show.
    private struct Shown {
        var view: String
        var selector: String
        var text: String
    }

    private func find(_ shown: [Shown], _ gateway: Gateway) async throws {
        let texts = shown.map { ["view": $0.view, "selector": $0.selector, "text": $0.text] }
        let json = String(decoding: try JSONSerialization.data(withJSONObject: texts), as: UTF8.self)
        try await PageScript.run("texts.py", ["http://127.0.0.1:\(gateway.port)", PageScript.operatorToken(), json])
    }

    @Test(
        "the share of errors in the overview is of attempts, also when no turn has succeeded",
        .enabled(if: PageScript.canRun, PageScript.reason))
    func failedTurns() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let user = gateway.testUser()
        for _ in 0..<2 { _ = try await user.chat("How do I begin? \(sim(["http_error": ["status": 400]]))") }
        try await find([Shown(view: "overview", selector: ".tile", text: "Errors\n2\n100.0% of attempts")], gateway)
    }

    @Test(
        "lists of alerts and of versions say that there are more than they show", .enabled(if: PageScript.canRun, PageScript.reason))
    func parts() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        try await database.fresh.psql(
            """
            insert into gateway.alerts (rule, measure, severity, threshold, value, started_at, resolved_at)
            select 'tried', 'open_circuits', 'warning', 1, 3, now() - n * interval '1 hour', now() - n * interval '50 minutes'
            from generate_series(1, 101) as n
            """)
        let editor = TestUser(gateway: gateway, role: "operator")
        for cost in 1...100 {
            let rules: [String: Any] = ["rules": [["id": "any-cost", "measure": "cost_usd", "above": 1_000 + cost, "severity": "info"]]]
            let saved = try await editor.send(
                "PUT", "/api/v1/operator/alert-rules", ["body": rules, "reason": "a test"], headers: ["If-Match": "*"])
            #expect(saved.status == 200, "\(saved.text)")
        }
        let text = "Shown are the newest 100. The CSV file has all."
        try await find(
            ["alerts", "configuration?document=alert-rules"].map { Shown(view: $0, selector: ".card", text: text) }, gateway)
    }
}
