import Foundation
import TestSupport
import Testing

/// A shared budget applies to the whole database, so this test has its own.
@Suite("Shared budgets", .paced)
struct SharedBudgetTests {
    @Test("two gateways, one of them killed, never spend more than the budget; a message at risk is still answered")
    func killed() async throws {
        let database = try await Database.ofItsOwn()
        let simulator = try await Simulator()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { tiers in
            tiers["installation_usd_per_day"] = "0.02"
            tiers["usd_reserved_per_turn"] = "0.001"
        }
        func gateway() async throws -> Gateway {
            try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: ["COACH_ROOT": root.path])
        }
        let (one, two) = (try await gateway(), try await gateway())
        // The killed gateway's slices, with three running turns.
        let slow = (0..<3).map { _ in one.testUser() }
        try await withThrowingTaskGroup { group in
            for user in slow { group.addTask { _ = try? await user.chat("Hello \(sim(["words": 100, "pace_ms": 100]))") } }
            try await eventually("three running turns") {
                try await database.rows("select turn_id from gateway.running_turns").count == 3
            }
            try await one.program.kill9()
            try await group.waitForAll()
        }
        // Every turn that was rejected after it began has failed, without a billed call.
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<30 { group.addTask { try await two.testUser().chat("Hello \(sim(["words": 50, "pace_ms": 100]))") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let refused = answers.filter { $0.status == 429 }
        #expect(!refused.isEmpty && refused.count < answers.count)
        #expect(
            refused.allSatisfy {
                $0.errorCode == "BIZ_2002" && $0.error["action"] == "wait" && $0.error.object("details")["reset_at"] != nil
            })
        #expect(answers.count == refused.count + answers.count { $0.status == 200 })
        let uncounted = try await database.row(
            """
            select (count(*) > 0)::text as found, (coalesce(sum(r.messages), 0) = 0)::text as zero
            from turns t join rate_limits r on r.user_id = t.user_id where t.error_code = 'BIZ_2002'
            """)
        #expect(uncounted["found"] == "true" && uncounted["zero"] == "true", "a rejected turn uses up no message: \(uncounted)")
        let sums = try await database.row(
            "select (select taken <= 20000000 from gateway.shared_budgets)::text as taken, (select sum(cost_usd) <= 0.02 from usage_logs)::text as spent"
        )
        #expect(sums["taken"] == "true" && sums["spent"] == "true", "\(sums)")
        let danger = try await two.testUser().chat("I want to kill myself \(sim(["words": 2]))")
        #expect(danger.status == 200 && danger.first("safety") != nil)
    }

    @Test("a turn that needs a slice which the database does not give is refused with EXT_4003, unless its message or user is at risk")
    func away() async throws {
        let database = try await Database.ofItsOwn()
        let simulator = try await Simulator()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { tiers in
            tiers["installation_usd_per_day"] = "0.02"
            tiers["usd_reserved_per_turn"] = "0.001"
        }
        try await database.fresh.psql(
            """
            create or replace function gateway.take_slice(scope text, id text, day date, at_most bigint, want bigint) returns bigint
                language plpgsql set search_path = '' as $$ begin raise exception 'no room' using errcode = '53000'; end $$
            """)
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: simulator.url, environment: ["COACH_ROOT": root.path])
        let (user, word) = (gateway.testUser(), marker())
        let refused = try await user.chat("Hello \(word)")
        #expect(refused.status == 503 && refused.errorCode == "EXT_4003" && refused.headers["retry-after"] == "1", "\(refused.text)")
        #expect(try await simulator.requests(containing: word).isEmpty)
        try await eventually("the end of the turn") { try await database.turn(of: user.id)["status"] == "failed" }
        try await eventually("the message that is given back") {
            try await database.row("select messages::text as n from rate_limits where user_id = '\(user.id)'")["n"] == "0"
        }
        let danger = try await gateway.testUser().chat("I want to kill myself \(sim(["words": 2]))")
        #expect(danger.eventTypes == ["start", "safety", "token", "usage", "done"], "\(danger.text)")
        let persona = try await database.listedPersona()
        let (other, quick) = (gateway.testUser(), sim(["words": 2]))
        expectDone(try await other.chat("I want to kill myself \(quick)"))
        expectDone(try await other.chat("Hello \(quick)", ["persona_id": persona]))
        withExtendedLifetime(gateway) {}
    }

    @Test("the budget of a tier refuses only users of the tier, that of a persona only users who talk to it; both are debited")
    func tierAndPersona() async throws {
        let database = try await Database.ofItsOwn()
        let simulator = try await Simulator()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { tiers in
            tiers["tiers"] = [
                ["name": "free", "requests_per_minute": 60, "concurrent_turns": 9, "shared_usd_per_day": "0.003"],
                ["name": "paid", "entitlements": ["paid"], "requests_per_minute": 60, "concurrent_turns": 9],
            ]
            tiers["persona_usd_per_day"] = "0.003"
            tiers["usd_reserved_per_turn"] = "0.001"
        }
        let persona = try await database.listedPersona()
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: simulator.url, environment: ["COACH_ROOT": root.path])
        func user(isPaid: Bool) async throws -> TestUser {
            let user = gateway.testUser()
            if isPaid {
                try await database.fresh.psql("insert into gateway.user_entitlements values ('\(user.id)', 'paid', false, 'infinity')")
            }
            return user
        }
        // Answers of 50 words, whose usage costs more than a third of the budget, until one is refused.
        func spend(_ body: [String: Any], isPaid: Bool) async throws -> Answer {
            let usage = ["prompt_tokens": 2_000, "completion_tokens": 1_000]
            for _ in 0..<9 {
                let answer = try await user(isPaid: isPaid).chat("Hello \(sim(["words": 5, "usage": usage]))", body)
                if answer.status != 200 { return answer }
                expectDone(answer)
            }
            return try #require(nil, "no turn was refused")
        }
        let refused = try await spend(["persona_id": persona], isPaid: true)
        #expect(refused.status == 429 && refused.errorCode == "BIZ_2002" && refused.error["action"] == "wait", "\(refused.text)")
        expectDone(try await user(isPaid: true).chat("Hello \(sim(["words": 2]))"))

        let free = try await spend([:], isPaid: false)
        #expect(free.status == 429 && free.errorCode == "BIZ_2002" && free.error["action"] == "upgrade", "\(free.text)")
        expectDone(try await user(isPaid: true).chat("Hello \(sim(["words": 2]))"))

        let budgets = try await database.rows(
            "select scope, id, (taken between 1 and 3000000)::text as fits from gateway.shared_budgets order by scope")
        #expect(budgets.map { $0["scope"] } == ["persona", "tier"] && budgets.map { $0["id"] } == [persona, "free"])
        #expect(budgets.allSatisfy { $0["fits"] == "true" }, "\(budgets)")
        let danger = try await user(isPaid: false).chat("I want to kill myself \(sim(["words": 2]))")
        #expect(danger.status == 200 && danger.first("safety") != nil)
    }

    @Test("a summary is not made of a budget that is spent")
    func summary() async throws {
        let database = try await Database.ofItsOwn()
        let simulator = try await Simulator()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { tiers in
            tiers["installation_usd_per_day"] = "0.004"
            tiers["usd_reserved_per_turn"] = "0.001"
        }
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: simulator.url, environment: ["COACH_ROOT": root.path])
        let user = gateway.testUser()
        // With its answer about 1,500 tokens: a history has room for two of them.
        let long = String(repeating: "I think about my work a lot. ", count: 210)
        var body: [String: Any] = [:]
        // The last one costs 0.0051: as much as is believed of a prompt and an answer of these lengths.
        for (prompt, completion) in [(1, 1), (1, 1), (18_000, 4_000)] {
            let usage = ["prompt_tokens": prompt, "completion_tokens": completion]
            let answer = try await user.chat("\(long) \(sim(["text": "Noted.", "usage": usage]))", body)
            expectDone(answer)
            body["conversation_id"] = answer.first("start")?["conversation_id"]
        }
        // Only a message at risk is still answered.
        let danger = try await user.chat("I want to kill myself. \(long) \(sim(["words": 2]))", body)
        #expect(danger.status == 200 && danger.first("safety") != nil)
        try await eventually("the end of the summary's call") {
            try await database.rows("select 1 as one from usage_logs where purpose = 'summary' and revision > 0").count == 1
        }
        #expect(try await database.rows("select 1 as one from model_calls where purpose = 'summary'").isEmpty)
        #expect(try await simulator.requests(containing: "I think about my work").allSatisfy { !$0.system.contains("notes that a coach") })
    }
}
