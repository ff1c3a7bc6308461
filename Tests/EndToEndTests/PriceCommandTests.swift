import Foundation
import TestSupport
import Testing

@Suite("The commands for prices", .paced)
struct PriceCommandTests {
    @Test("reprice books calls at the prices that an operator has edited over the shipped ones, once, and as revisions")
    func reprice() async throws {
        // Edited prices apply to a whole database.
        let database = try await Database.ofItsOwn()
        let simulator = try await Simulator()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
        let user = gateway.testUser()
        let usage = ["prompt_tokens": 1_000, "cached_tokens": 0, "completion_tokens": 1_000, "reasoning_tokens": 0]
        expectDone(try await user.chat("Hello \(sim(["words": 2, "usage": usage]))"))
        func cost() async throws -> Decimal? { try await database.usage(of: user.id).first?["cost"].flatMap { Decimal(string: $0) } }
        func reprice(_ more: [String] = []) async throws -> String {
            // The day may end meanwhile.
            let days = ["--from", Self.day(-86_400), "--to", Self.day(86_400)]
            return try await Program.succeed(["reprice"] + days + more, environment: ["COACH_MIGRATION_URL": database.ownerURL])
        }
        #expect(try await cost() == Decimal(string: "0.00075"))
        #expect(try await reprice().contains("changed 0 of 1 calls"))

        let (editor, path) = (TestUser(gateway: gateway, role: "operator"), "/api/v1/operator/prices")
        let json = try JSONSerialization.jsonObject(with: Data(try await editor.send("GET", path).body)) as? [String: Any]
        var body = try #require((json?["data"] as? [String: Any])?["body"] as? [String: Any])
        let dearer: [String: Any] = [
            "provider": "simulator", "model": "sim-", "match": "prefix", "valid_from": Self.day(-2 * 86_400), "source": "a test",
            "input": "10", "cached_input": "1", "cache_write": "1", "output": "20", "reasoning": "20",
        ]
        body["prices"] = try #require(body["prices"] as? [[String: Any]]) + [dearer]
        let saved = try await editor.send("PUT", path, ["body": body, "reason": "a test"], headers: ["If-Match": "*"])
        #expect(saved.status == 200, "\(saved.text)")

        #expect(try await reprice(["--dry-run"]).contains("would change 1 of 1 calls"))
        #expect(try await cost() == Decimal(string: "0.00075"))
        #expect(try await reprice().contains("changed 1 of 1 calls"))
        #expect(try await cost() == Decimal(string: "0.03"))
        #expect(try await reprice().contains("changed 0 of 1 calls"))
        let audit = try await editor.send("GET", "/api/v1/operator/audit").list
        #expect(audit.map { $0["action"] } == ["ledger.reprice", "document.put"] && audit.first?["actor_role"] == "system", "\(audit)")
        withExtendedLifetime(gateway) {}
        let notice = "the ledger has no calls of days before"
        #expect(try await !reprice().contains(notice))
        // As after the partition of yesterday was detached.
        try await database.fresh.psql("update gateway.rollup_state set ledger_start = '\(Self.day(86_400))'")
        #expect(try await reprice().contains(notice))
        let old = try await database.row("select count(*) as count from usage_logs where cost_usd = 0.00075")
        #expect(old.number("count") == 1, "the old figure stays")
    }

    @Test("import-prices writes a price list that operator/prices takes")
    func importPrices() async throws {
        let folder = try Folder()
        let list = """
            {"gpt-4o": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
              "cache_read_input_token_cost": 1.25e-06}}
            """
        try folder.write("list.json", list)
        let output = try await Program.succeed(["import-prices", folder.path + "/list.json", "--valid-from", "2026-03-01"])
        let prices = JSONObject(output).objects("prices")
        #expect(prices.map { $0["model"] } == ["gpt-4o"] && prices.first?["valid_from"] == "2026-03-01", "\(output)")
        #expect(prices.first?["input"].flatMap { Decimal(string: $0) } == Decimal(string: "2.5"))

        let body = try JSONSerialization.jsonObject(with: Data(output.utf8))
        let checked = try await TestUser(gateway: try await TestBed.shared().gateway, role: "operator")
            .send("PUT", "/api/v1/operator/prices?dry_run=true", ["body": body], headers: ["If-Match": "*"])
        #expect(checked.status == 200, "\(checked.text)")
    }

    @Test("import-prices fails without a list when the file has a fault, or no price of a provider")
    func importNothing() async throws {
        let folder = try Folder()
        let path = folder.path + "/list.json"
        let model = #"{"a": {"litellm_provider": "openai", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06}}"#
        for (list, provider, finding) in [
            ("{\n  \"a\":", "openai", "line 2, column 7: the text ends inside a value"), ("[]", "openai", "has no price of openai"),
            (model, "opnai", "has no price of opnai"),
        ] {
            try folder.write("list.json", list)
            let (status, output) = try await Program.run(["import-prices", path, "--valid-from", "2026-03-01", "--provider", provider])
            #expect(status == 64 && output.contains(finding) && !output.contains("usd_per_million"), "\(output)")
        }
    }

    /// The day (UTC) so many seconds from now.
    private static func day(_ seconds: TimeInterval) -> String {
        ISO8601DateFormatter.string(
            from: Date(timeIntervalSinceNow: seconds), timeZone: .gmt, formatOptions: [.withFullDate, .withDashSeparatorInDate])
    }
}
