import TestSupport
import Testing

@Suite("A model without a price", .paced)
struct UnpricedTurnTests {
    @Test("costs null, not 0, and is counted")
    func unpriced() async throws {
        let testBed = try await TestBed.shared()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/models.json") { file in
            file["providers"] = ["unlisted": ["dialect": "openai", "base_url": testBed.simulator.url, "api_key_env": "KEY"]]
            file["routes"] = ["default": [["provider": "unlisted", "model": "sim-coach-1", "max_output_tokens": 1024]]]
        }
        let gateway = try await Gateway(
            database: testBed.database.gatewayURL, simulator: nil,
            environment: root.environment.merging(["COACH_METRICS_LISTEN": "127.0.0.1:0"]) { $1 })
        let user = gateway.testUser()
        let answer = try await user.chat("Hello \(sim(["words": 3]))")
        expectDone(answer)
        #expect(answer.first("usage")?.fields.isNull("cost_usd") == true && answer.first("usage")?.fields.flag("estimated") == false)
        let bills = try await testBed.database.rows("select * from model_calls where user_id = '\(user.id)'")
        #expect(bills.count == 1 && bills[0].isNull("cost_usd") && bills[0].number("output_tokens") ?? 0 > 0, "\(bills)")
        let metrics = try await Browser(port: try await gateway.metricsPort()).send("GET", "/metrics").text
        let counted = metrics.split(separator: "\n").filter { $0.hasPrefix("coach_unpriced_turns_total") }
        #expect(counted.count == 1 && counted[0].hasSuffix(" 1"), "\(counted)")
    }
}
