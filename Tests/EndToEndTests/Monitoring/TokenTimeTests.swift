import TestSupport
import Testing

@Suite("The time per output token", .paced)
struct TokenTimeTests {
    @Test("leaves out the tokens of reasoning, which come before the first text")
    func reasoning() async throws {
        let testBed = try await TestBed.shared()
        let gateway = try await Gateway(
            database: testBed.database.gatewayURL, simulator: testBed.simulator.url,
            environment: ["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let user = gateway.testUser()
        let usage = ["prompt_tokens": 1_000, "cached_tokens": 0, "completion_tokens": 1_020, "reasoning_tokens": 1_000]
        expectDone(try await user.chat("Hello \(sim(["words": 20, "pace_ms": 50, "usage": usage]))"))
        let page = try await MetricsPage(port: try await gateway.metricsPort())
        let name = "gen_ai_server_time_per_output_token_seconds"
        #expect(page.sum("\(name)_count") == 1)
        // 50 ms for each of 19 tokens; it would be a thousandth of a second with those of reasoning.
        #expect(page.sum("\(name)_sum") > 0.01)
    }
}
