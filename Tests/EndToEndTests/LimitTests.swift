import Foundation
import TestSupport
import Testing

@Suite("A tier's limits", .paced)
struct LimitTests {
    /// A gateway with its own limits, shared by these tests.
    private static let small = Task {
        let testBed = try await TestBed.shared()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { tiers in
            tiers["tiers"] = [
                [
                    "name": "free", "requests_per_minute": 20, "messages_per_day": 2, "concurrent_turns": 2,
                    "domains": ["fitness", "relationships"],
                ],
                ["name": "busy", "entitlements": ["busy"], "requests_per_minute": 20, "concurrent_turns": 2],
            ]
            tiers["crisis"] = ["model_calls_per_day": 3, "concurrent_turns": 20]
        }
        return (gateway: try await testBed.anotherGateway(["COACH_ROOT": root.path, "COACH_METRICS_LISTEN": "127.0.0.1:0"]), root: root)
    }

    private func testUser() async throws -> TestUser { try await Self.small.value.gateway.testUser() }
    private let quick = sim(["words": 2])
    /// Tier 2 and above, by the crisis grammar.
    private let danger = "I want to kill myself"

    @Test("messages of a day: the next one is rejected as a quota, with the time of its reset")
    func daily() async throws {
        let testUser = try await testUser()
        for left in [2, 1] {
            let usage = try await testUser.send("GET", "/api/v1/me/usage").data
            #expect(usage["tier"] == "free" && usage.number("messages_per_day") == 2 && usage.number("messages_remaining") == left)
            expectDone(try await testUser.chat("Hello \(quick)"))
        }
        let refused = try await testUser.chat("Hello \(quick)")
        #expect(refused.status == 429 && refused.errorCode == "BIZ_2002" && refused.error["action"] == "upgrade")
        #expect(
            refused.error["user_message"] == "You've reached today's limit. Let's continue tomorrow, or upgrade for more time together.")
        let details = refused.error.object("details")
        #expect(details.number("limit") == 2 && details["tier"] == "free")
        #expect(details["upgrade_tier"] == "busy" && details["entitlement"] == "busy")
        #expect(details["reset_at"]?.hasSuffix("T00:00:00.000Z") == true)
        let usage = try await testUser.send("GET", "/api/v1/me/usage").data
        #expect(usage.number("messages_remaining") == 0 && usage["resets_at"] == details["reset_at"])
        let seconds = try #require(refused.error.number("retry_after"))
        #expect((1...86_400).contains(seconds) && refused.headers["retry-after"] == "\(seconds)")
        let stored = try await TestBed.shared().database.messages(of: testUser.id, role: "user")
        #expect(stored.count == 2)
        let page = try await MetricsPage(port: try await Self.small.value.gateway.metricsPort())
        #expect(page.sum("coach_refused_requests_total", #"limit="quota""#) >= 1)
    }

    @Test("a requested domain outside the tier needs a subscription; a routed one is answered with the generic prompt")
    func domains() async throws {
        let testUser = try await testUser()
        let refused = try await testUser.chat("Hello \(quick)", ["domain": "leadership"])
        #expect(refused.status == 403 && refused.errorCode == "BIZ_2001" && refused.error["action"] == "upgrade")
        #expect(
            refused.error["user_message"] == "That's a part of coaching I can only open with a subscription. Shall we look at it together?")
        let details = refused.error.object("details")
        #expect(details["domain"] == "leadership" && details["tier"] == "free" && details["entitlement"] == "busy")
        let named = try await testUser.chat("Hello \(quick)", ["domain": "fitness"])
        #expect(named.first("start")?["domain"] == "fitness")
        let routed = "How do I delegate to my team and lead my direct reports as their manager?"
        #expect(try await testUser.chat("\(routed) \(quick)").first("start")?["domain"] == nil)
        let paid = try await Self.small.value.gateway.testUser()
        try await TestBed.shared().database.fresh.psql(
            "insert into gateway.user_entitlements values ('\(paid.id)', 'busy', false, 'infinity')")
        let usage = try await paid.send("GET", "/api/v1/me/usage").data
        #expect(usage["tier"] == "busy" && usage.isNull("messages_per_day") && usage.isNull("messages_remaining"))
        #expect(try await paid.chat("\(routed) \(quick)").first("start")?["domain"] == "leadership")
    }

    @Test("messages of a day do not count a repetition")
    func repetition() async throws {
        let testUser = try await testUser()
        for _ in 0..<4 { expectDone(try await testUser.chat("Hello \(quick)", ["client_message_id": "k"])) }
        expectDone(try await testUser.chat("Hello \(quick)"))
        #expect(try await testUser.chat("Hello \(quick)").status == 429)
    }

    @Test("a message at risk passes the quota, and so do later ones while the safety level is stored")
    func danger() async throws {
        let testUser = try await testUser()
        for _ in 0..<2 { #expect(try await testUser.chat("Hello \(quick)").status == 200) }
        #expect(try await testUser.chat("Hello \(quick)").status == 429)
        let crisis = try await testUser.chat("\(danger) \(quick)")
        #expect(crisis.status == 200 && crisis.eventTypes == ["start", "safety", "token", "usage", "done"])
        #expect(try await testUser.chat("Are you there? \(quick)").status == 200)
    }

    @Test(
        "a person in danger who has spent the allowance too is answered by the fixed text, without a model; below tier 2 refused with resources"
    )
    func allowance() async throws {
        let testBed = try await TestBed.shared()
        let (testUser, word) = (try await testUser(), marker())
        for _ in 0..<2 { #expect(try await testUser.chat("Hello \(quick)").status == 200) }
        for _ in 0..<3 { expectDone(try await testUser.chat("\(danger) \(quick)")) }

        let fixed = try await testUser.chat("\(danger) \(word) \(quick)", ["country": "US", "client_message_id": "k"])
        #expect(fixed.eventTypes == ["start", "safety", "token", "usage", "done"], "\(fixed.text)")
        #expect(fixed.first("done")?.fields["finish_reason"] == "safety")
        #expect(fixed.content.contains("988") && fixed.first("usage")?.fields["cost_usd"] == "0.000000")
        #expect(try await testBed.simulator.requests(containing: word).isEmpty, "no provider was called")
        let answers = try await testBed.database.messages(of: testUser.id, role: "assistant")
        #expect(answers.last?["content"] == fixed.content && answers.last?["status"] == "complete")
        #expect(try await testBed.database.usage(of: testUser.id).count == 5)
        // An ordinary turn: a repeated request gets it again.
        let again = try await testUser.chat("\(danger) \(word) \(quick)", ["country": "US", "client_message_id": "k"])
        #expect(again.content == fixed.content && again.first("start")?.fields["turn_id"] == fixed.first("start")?.fields["turn_id"])

        let refused = try await testUser.chat("Are you there? \(quick)", ["country": "US"])
        #expect(refused.status == 429 && refused.errorCode == "BIZ_2002" && refused.text.contains("988"))

        // Harmless by itself, a crisis after what was said before.
        let followUp = "Nobody is home before seven \(quick)"
        #expect(try await self.testUser().chat(followUp).eventTypes.contains("safety") == false)
        let followed = try await testUser.chat(followUp, ["country": "US"])
        #expect(followed.eventTypes == ["start", "safety", "token", "usage", "done"], "\(followed.text)")
        #expect(followed.first("done")?.fields["finish_reason"] == "safety")
        let persona = try await testBed.database.listedPersona()
        let elsewhere = try await testUser.chat(followUp, ["country": "US", "persona_id": persona])
        #expect(elsewhere.eventTypes == ["start", "safety", "token", "usage", "done"], "with another persona: \(elsewhere.text)")
    }

    @Test("concurrent turns: one more is rejected, but not one with a message at risk")
    func concurrent() async throws {
        let testBed = try await TestBed.shared()
        let testUser = try await testUser()
        _ = try await testUser.browser.send("GET", "/healthz")
        try await testBed.database.fresh.psql(
            "insert into gateway.user_entitlements values ('\(testUser.id)', 'busy', false, 'infinity')")
        let slow = sim(["words": 12, "pace_ms": 100])
        async let one = testUser.chat("One \(slow)")
        async let two = testUser.chat("Two \(slow)")
        try await eventually("two running turns") {
            try await testBed.database.rows("select id from turns where user_id = '\(testUser.id)' and status = 'running'").count == 2
        }
        let refused = try await testUser.chat("Three \(quick)")
        #expect(refused.status == 429 && refused.errorCode == "BIZ_2002" && refused.headers["retry-after"] != nil)
        let crisis = try await testUser.chat("\(danger) \(quick)")
        #expect(crisis.status == 200 && crisis.first("safety") != nil)
        _ = try await (one, two)
        #expect(try await testUser.chat("Three again \(quick)").status == 200)
    }

    @Test("requests of a minute: Retry-After has the time until the next one; a message at risk is not limited")
    func perMinute() async throws {
        let testUser = try await testUser()
        var refused: Answer?
        for _ in 0..<30 where refused?.errorCode != "BIZ_2010" {
            refused = try await testUser.chat("Hello", ["conversation_id": UUID().uuidString])
        }
        let answer = try #require(refused)
        #expect(answer.status == 429 && answer.errorCode == "BIZ_2010" && answer.error["action"] == "wait")
        let seconds = try #require(answer.headers["retry-after"].flatMap { Int($0) })
        #expect((1...60).contains(seconds))
        #expect(answer.headers["x-ratelimit-remaining"] == "0" && answer.headers["x-ratelimit-limit"] == "20")
        #expect(try await testUser.chat("\(danger) \(quick)").status == 200)
    }

    @Test("requests of a minute: a list, too, is rejected with Retry-After")
    func perMinuteOfLists() async throws {
        let testUser = try await testUser()
        var answer = try await testUser.browser.send("GET", "/api/v1/conversations")
        for _ in 0..<30 where answer.status == 200 { answer = try await testUser.browser.send("GET", "/api/v1/conversations") }
        #expect(answer.status == 429 && answer.errorCode == "BIZ_2010")
        let reset = try #require(answer.headers["x-ratelimit-reset"].flatMap { Double($0) })
        let seconds = try #require(answer.headers["retry-after"].flatMap { Double($0) })
        #expect(abs(reset - Date().timeIntervalSince1970 - seconds) < 3)
    }

    @Test("at the request limit a user at risk can resume the answer, and name an unknown domain")
    func comingBack() async throws {
        let testUser = try await testUser()
        let crisis = try await testUser.chat("\(danger) \(quick)")
        let turn = try #require(crisis.first("start")?["turn_id"])
        for _ in 0..<25 { _ = try await testUser.browser.post("{") }
        let again = try await testUser.browser.send("GET", "\(Browser.chatPath)/\(turn)")
        #expect(again.status == 200 && again.eventTypes == crisis.eventTypes && again.headers["x-ratelimit-remaining"] == "0")
        let calm = try await testUser.chat("And now? \(quick)", ["domain": "astrology"])
        #expect(calm.status == 200 && calm.first("done") != nil)
    }

    @Test("every error for a user at risk has crisis resources, also errors before the database is queried")
    func rejections() async throws {
        let testUser = try await testUser()
        _ = try await testUser.chat("\(danger) \(quick)")
        let refused = [
            try await testUser.browser.post("{"), try await testUser.chat("Hello", ["conversation_id": "x"]),
            try await testUser.browser.send("GET", "\(Browser.chatPath)/\(UUID())"),
            try await testUser.browser.send("GET", "\(Browser.chatPath)/nobody"),
            try await testUser.browser.send("POST", "\(Browser.chatPath)/\(UUID())/stop", body: []),
            try await testUser.browser.send("POST", "\(Browser.chatPath)/\(UUID())/retry", body: []),
        ]
        for answer in refused {
            #expect((400..<500).contains(answer.status))
            #expect(answer.error.object("details").object("safety").objects("resources").isEmpty == false, "\(answer.text)")
            #expect(answer.headers["x-ratelimit-remaining"] != nil, "\(answer.text)")
        }
    }

    @Test("every authenticated response has the remaining requests, and a malformed request counts")
    func headers() async throws {
        let testUser = try await testUser()
        let answers = [
            try await testUser.browser.post("{"), try await testUser.browser.post("{}"),
            try await testUser.chat("Hello", ["domain": "astrology"]),
            try await testUser.browser.send("GET", "\(Browser.chatPath)/\(UUID())?after=x"),
            try await testUser.browser.send("POST", "\(Browser.chatPath)/nobody/stop", body: []),
        ]
        #expect(answers.map(\.status) == [400, 422, 422, 422, 404])
        #expect(answers.map { $0.headers["x-ratelimit-remaining"] } == ["19", "18", "17", "16", "15"])
        let turn = try #require(try await testUser.chat("Hello \(quick)").first("start")?["turn_id"])
        let stopped = try await testUser.browser.send("POST", "\(Browser.chatPath)/\(turn)/stop", body: [])
        #expect(stopped.status == 200 && stopped.headers["x-ratelimit-remaining"] == "13")
        try await TestBed.shared().database.fresh.psql("update users set suspended_at = now() where id = '\(testUser.id)'")
        let suspended = try await testUser.browser.send("POST", "\(Browser.chatPath)/\(turn)/stop", body: [])
        #expect(suspended.status == 403 && suspended.errorCode == "AUTH_1003")
    }
}
