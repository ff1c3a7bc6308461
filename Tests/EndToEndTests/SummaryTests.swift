import Foundation
import TestSupport
import Testing

@Suite("Rolling summaries", .paced)
struct SummaryTests {
    /// A message of about 1,500 tokens: with its answer, two fit into a history of 3,000 and three do not.
    private func long(_ mark: String, _ text: String = "Noted.") -> String {
        "\(mark) \(String(repeating: "I think about my work a lot. ", count: 210)) \(sim(["text": text]))"
    }

    private func jobs(_ database: Database, of user: String) async throws -> Int {
        try await database.row(
            "select count(*) as n from gateway.jobs where user_id = '\(user)' and kind = 'summarise_conversation'"
        )
        .number("n") ?? -1
    }

    @Test("replace what no longer fits into the prompt, are billed as their own call, and used by the next turn")
    func summary() async throws {
        // Of its own, because jobs are run by any gateway of a database, also by those of other tests with other providers.
        let (database, simulator) = (try await Database.ofItsOwn(), try await TestBed.shared().simulator)
        let gateway = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
        let user = gateway.testUser()
        let mark = marker()
        let first = try await user.chat(long("first \(mark)"))
        let conversation = try #require(first.first("start")?["conversation_id"])
        for name in ["second", "third", "fourth"] {
            expectDone(try await user.chat(long("\(name) \(mark)", "They want to change \(name) work."), ["conversation_id": conversation]))
        }
        try await eventually("the summary") { try await jobs(database, of: user.id) == 0 }
        let made = try await database.row(
            "select summary, summarised_through_seq as through, last_seq from conversations where id = '\(conversation)'")
        let through = try #require(made.number("through"))
        #expect(
            through > 0 && through % 2 == 0 && through < made.number("last_seq") ?? 0, "cut before a user's message, the newest turn kept")
        let calls = try await database.rows("select * from model_calls where user_id = '\(user.id)' and purpose = 'summary'")
        #expect(!calls.isEmpty && calls.allSatisfy { $0.number("call") ?? 0 > 1 && !$0.isNull("cost_usd") })
        let money = try await database.row(
            """
            select (select sum(spent_usd) from budgets where user_id = '\(user.id)')
                = (select sum(cost_usd) from model_calls where user_id = '\(user.id)') as balanced
            """)
        #expect(money.flag("balanced") == true)
        let asked = try #require(
            try await simulator.requests(containing: "first \(mark)").first { $0.system.contains("notes that a coach") })
        #expect(asked.messages.last?.content.contains("<messages>\n<person>\nfirst \(mark)") == true)

        let next = marker()
        expectDone(try await user.chat("And now? \(next) \(sim(["words": 2]))", ["conversation_id": conversation]))
        let prompt = try #require(try await simulator.requests(containing: next).last)
        #expect(prompt.system.contains("<conversation_summary>\n\(made["summary"] ?? "-")\n</conversation_summary>"))
    }

    @Test("are made in the turn's own route, and their cost is a metric")
    func route() async throws {
        // Of its own, as above.
        let database = try await Database.ofItsOwn()
        let simulator = try await Simulator()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/models.json") { models in
            models["providers"] = ["simulator": ["dialect": "openai", "base_url": simulator.url, "api_key_env": "KEY"]]
            models["routes"] = ["default": "sim-coach-1", "domain.career_coaching": "sim-career"].mapValues { model in
                [["provider": "simulator", "model": model, "max_output_tokens": 1024]]
            }
        }
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: nil,
            environment: ["COACH_ROOT": root.path, "KEY": "any", "COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let user = gateway.testUser()
        var body = ["domain": "career_coaching"]
        for name in ["first", "second", "third", "fourth"] {
            let answer = try await user.chat(long(name), body)
            expectDone(answer)
            body["conversation_id"] = answer.first("start")?["conversation_id"]
        }
        func models() async throws -> [String?] {
            try await database.rows("select model from model_calls where purpose = 'summary'").map { $0["model"] }
        }
        try await eventually("the summary") { try await !models().isEmpty }
        #expect(try await models().allSatisfy { $0 == "sim-career" })
        // Their cost is on the metrics page, too.
        let port = try await gateway.metricsPort()
        try await eventually("the cost of all calls") {
            let cost = try await database.row("select round(sum(cost_usd) * 1000000000)::bigint as nanodollars from model_calls")
            return try await MetricsPage(port: port).sum("coach_cost_nanodollars_total") == cost.number("nanodollars").map(Double.init)
        }
    }

    @Test("are not asked for by a turn that is answered by the fixed text")
    func fixedText() async throws {
        let (database, simulator) = (try await Database.ofItsOwn(), try await TestBed.shared().simulator)
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { tiers in
            tiers["tiers"] = [["name": "free", "requests_per_minute": 60, "messages_per_day": 2, "concurrent_turns": 2]]
            tiers["crisis"] = ["model_calls_per_day": 1, "concurrent_turns": 2]
        }
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: simulator.url, environment: ["COACH_ROOT": root.path])
        let user = gateway.testUser()
        var body: [String: Any] = [:]
        // The next turn no longer has the first message in its history.
        for name in ["first", "second"] {
            let answer = try await user.chat(long(name), body)
            expectDone(answer)
            body["conversation_id"] = answer.first("start")?["conversation_id"]
        }
        // The only call beyond the limits, in another conversation.
        expectDone(try await user.chat("I want to kill myself \(sim(["words": 2]))"))
        let fixed = try await user.chat("I want to kill myself \(sim(["words": 2]))", body)
        #expect(fixed.first("done")?["finish_reason"] == "safety", "\(fixed.text)")
        #expect(try await jobs(database, of: user.id) == 0)
        #expect(try await database.rows("select 1 as one from usage_logs where purpose = 'summary'").isEmpty)
        withExtendedLifetime(gateway) {}
    }

    @Test("are not made once the consent `memory` is refused, nor of ephemeral conversations")
    func off() async throws {
        let testBed = try await TestBed.shared()
        let (refusing, other) = (testBed.testUser(), testBed.testUser())
        #expect(try await refusing.send("PUT", "/api/v1/me/consents/memory", ["granted": false, "version": "1"]).status == 200)
        let ephemeral = try await other.send("POST", "/api/v1/conversations", ["ephemeral": true])
        var ids: [String: String] = [other.id: try #require(ephemeral.data["id"])]
        for user in [refusing, other] {
            for _ in 0..<4 {
                let answer = try await user.chat(long("x"), ids[user.id].map { ["conversation_id": $0] } ?? [:])
                expectDone(answer)
                ids[user.id] = answer.first("start")?["conversation_id"]
            }
            #expect(try await jobs(testBed.database, of: user.id) == 0)
            let calls = try await testBed.database.rows(
                "select 1 as one from usage_logs where purpose = 'summary' and conversation_id = '\(ids[user.id] ?? "")'")
            #expect(calls.isEmpty)
        }
    }
}
