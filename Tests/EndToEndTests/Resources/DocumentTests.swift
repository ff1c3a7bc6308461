import Foundation
import TestSupport
import Testing

@Suite("Configuration that operators edit", .paced)
struct DocumentTests {
    private static let fitness = DocumentFixture.fitness

    @Test("an edit applies on every instance, cuts no stream, is rolled back, and is in check and the audit log")
    func life() async throws {
        // Of its own, whose versions and audit log begin with these edits.
        let fixture = try await DocumentFixture()
        let editor = TestUser(gateway: fixture.one, role: "operator")
        let (old, new) = ("Energetic but kind, as tested before", "Measured and dry, as tested after")
        var (body, tag) = try await fixture.body(editor, tone: old)
        #expect(tag == "\"v1\"")
        let saved = try await editor.send("PUT", Self.fitness, ["body": body, "reason": "a test"], headers: ["If-Match": tag])
        #expect(saved.status == 200 && saved.data.number("version") == 2 && saved.data["author"] == editor.id, "\(saved.text)")
        for gateway in [fixture.one, fixture.two] { try await inForce(old, gateway, fixture) }

        // A stream that runs during the next edit.
        let reader = fixture.two.testUser()
        async let running = reader.chat("Slow \(sim(["words": 40, "pace_ms": 100]))", ["domain": "fitness"])
        (body, tag) = try await fixture.body(editor, tone: new)
        #expect(try await editor.send("PUT", Self.fitness, ["body": body], headers: ["If-Match": tag]).status == 200)
        for gateway in [fixture.one, fixture.two] { try await inForce(new, gateway, fixture) }
        expectDone(try await running)

        let stale = try await editor.send("PUT", Self.fitness, ["body": body], headers: ["If-Match": tag])
        #expect(stale.status == 412 && stale.errorCode == "BIZ_2008" && stale.headers["etag"] == "\"v3\"")
        #expect(stale.error.object("details").object("current").number("version") == 3)
        #expect(try await editor.send("PUT", Self.fitness, ["body": body]).status == 428)

        let difference = try await editor.send("GET", "\(Self.fitness)/diff")
        #expect(difference.data.objects("operations").map { $0["path"] } == ["/tone"] && difference.data.number("to") == 3)
        let notes = try await Program.succeed(
            ["check"], environment: Gateway.environment(database: fixture.database.gatewayURL, simulator: fixture.simulator.url))
        #expect(notes.contains("domain/fitness version 3 differs from the shipped file in /tone"), "\(notes)")

        let back = try await editor.send("POST", "\(Self.fitness)/rollback", ["version": 1], headers: ["If-Match": "\"v3\""])
        #expect(back.status == 200 && back.data.number("version") == 4 && back.data.number("restores") == 1)
        #expect(try await editor.send("GET", "\(Self.fitness)/diff").data.objects("operations").isEmpty)
        let versions = try await editor.send("GET", "\(Self.fitness)/versions?limit=3")
        #expect(versions.list.map { $0.number("version") } == [4, 3, 2] && versions.list[2]["reason"] == "a test")
        let cursor = try #require(versions.json.object("pagination")["next_cursor"])
        #expect(try await editor.send("GET", "\(Self.fitness)/versions?cursor=\(cursor)").list.map { $0.number("version") } == [1])
        #expect(try await editor.send("GET", "\(Self.fitness)/versions/2").data.object("body")["tone"] == old)

        let audit = try await editor.send("GET", "/api/v1/operator/audit?limit=2")
        #expect(audit.list.map { $0["action"] } == ["document.rollback", "document.put"])
        #expect(audit.list.allSatisfy { $0["target"] == "domain/fitness" && $0["actor_id"] == editor.id })
        #expect(audit.list[0]["request_id"] == back.headers["x-request-id"])
        let older = try #require(audit.json.object("pagination")["next_cursor"])
        #expect(try await editor.send("GET", "/api/v1/operator/audit?cursor=\(older)").list.map { $0.number("sequence") } == [1])
    }

    /// Waits until the prompt of a turn has this tone.
    private func inForce(_ tone: String, _ gateway: Gateway, _ fixture: DocumentFixture) async throws {
        try await eventually(within: .seconds(20), "the tone \(tone)") {
            let word = marker()
            _ = try await gateway.testUser().chat("Hello \(word) \(sim(["words": 1]))", ["domain": "fitness"])
            return try await fixture.simulator.requests(containing: word).last?.system.contains(tone) == true
        }
    }

    @Test("an instance that starts later has the edited version, and a broken audit log is a finding of check")
    func later() async throws {
        let fixture = try await DocumentFixture.shared.value
        let editor = TestUser(gateway: fixture.one, role: "operator")
        let (body, tag) = try await fixture.body(editor, tone: "A tone from before the start")
        #expect(try await editor.send("PUT", Self.fitness, ["body": body], headers: ["If-Match": tag]).status == 200)
        let third = try await Gateway(database: fixture.database.gatewayURL, simulator: fixture.simulator.url)
        let word = marker()
        _ = try await third.testUser().chat("Hello \(word) \(sim(["words": 1]))", ["domain": "fitness"])
        #expect(try await fixture.simulator.requests(containing: word).last?.system.contains("A tone from before the start") == true)

        try await fixture.database.fresh.psql(
            "begin; set local session_replication_role = replica; update gateway.audit_log set reason = 'x'; commit")
        let (status, output) = try await Program.run(
            ["check"], environment: Gateway.environment(database: fixture.database.gatewayURL, simulator: fixture.simulator.url))
        #expect(status != 0 && output.contains("the audit log was changed: entry 1"), "\(output)")
    }

    @Test("edited tiers apply on every instance, and an invalid edit has findings")
    func tiers() async throws {
        let fixture = try await DocumentFixture.shared.value
        let editor = TestUser(gateway: fixture.one, role: "operator")
        let limits = "/api/v1/operator/limits"
        let json = try JSONSerialization.jsonObject(with: Data(try await editor.send("GET", limits).body)) as? [String: Any]
        var body = try #require((json?["data"] as? [String: Any])?["body"] as? [String: Any])
        var tiers = try #require(body["tiers"] as? [[String: Any]])
        tiers[0]["requests_per_minute"] = 7
        tiers[0]["domains"] = ["astrology"]
        body["tiers"] = tiers
        let wrong = try await editor.send("PUT", limits, ["body": body], headers: ["If-Match": "*"])
        #expect(wrong.status == 422 && wrong.findingFields == ["body.tiers[0].domains[0]"], "\(wrong.text)")
        tiers[0]["domains"] = ["fitness"]
        body["tiers"] = tiers
        #expect(try await editor.send("PUT", limits, ["body": body], headers: ["If-Match": "*"]).status == 200)
        for gateway in [fixture.one, fixture.two] {
            try await eventually("the edited limit") {
                try await gateway.testUser().browser.send("GET", "/api/v1/conversations").headers["x-ratelimit-limit"] == "7"
            }
            #expect(try await gateway.testUser().chat("Hello \(sim(["words": 1]))", ["domain": "mindset"]).errorCode == "BIZ_2001")
        }
    }

    @Test("an edited price is that of the next turn on every instance")
    func prices() async throws {
        let fixture = try await DocumentFixture.shared.value
        let (editor, path) = (TestUser(gateway: fixture.one, role: "operator"), "/api/v1/operator/prices")
        let json = try JSONSerialization.jsonObject(with: Data(try await editor.send("GET", path).body)) as? [String: Any]
        var body = try #require((json?["data"] as? [String: Any])?["body"] as? [String: Any])
        var prices = try #require(body["prices"] as? [[String: Any]])
        let yesterday = ISO8601DateFormatter.string(
            from: Date(timeIntervalSinceNow: -86_400), timeZone: .gmt, formatOptions: [.withFullDate, .withDashSeparatorInDate])
        let classes = ["input": "10", "cached_input": "1", "cache_write": "1", "output": "20", "reasoning": "20"]
        prices.append(
            classes.merging(["provider": "simulator", "model": "sim-", "match": "prefix", "valid_from": yesterday, "source": "a test"]) {
                $1
            })
        body["prices"] = prices
        let script = sim([
            "words": 2, "usage": ["prompt_tokens": 1_000, "cached_tokens": 0, "completion_tokens": 1_000, "reasoning_tokens": 0],
        ])
        func cost(_ gateway: Gateway) async throws -> Decimal? {
            let user = gateway.testUser()
            expectDone(try await user.chat("Hello \(script)"))
            return try await fixture.database.usage(of: user.id).first?["cost"].flatMap { Decimal(string: $0) }
        }
        #expect(try await cost(fixture.one) == Decimal(string: "0.00075"))
        let saved = try await editor.send("PUT", path, ["body": body, "reason": "a test"], headers: ["If-Match": "*"])
        #expect(saved.status == 200, "\(saved.text)")
        for gateway in [fixture.one, fixture.two] {
            try await eventually("the edited price") { try await cost(gateway) == Decimal(string: "0.03") }
        }
    }

    @Test("check warns of the prices and tiers that are in force, not of the shipped ones")
    func warnings() async throws {
        let (database, simulator) = (try await Database.ofItsOwn(), try await Simulator())
        let gateway = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
        defer { withExtendedLifetime((gateway, simulator)) {} }
        let editor = TestUser(gateway: gateway, role: "operator")
        func replace(_ member: String, of document: String, with value: Any) async throws {
            let path = "/api/v1/operator/\(document)"
            let json = try JSONSerialization.jsonObject(with: Data(try await editor.send("GET", path).body)) as? [String: Any]
            var body = try #require((json?["data"] as? [String: Any])?["body"] as? [String: Any])
            body[member] = value
            let saved = try await editor.send("PUT", path, ["body": body], headers: ["If-Match": "*"])
            #expect(saved.status == 200, "\(saved.text)")
        }
        let environment = Gateway.environment(database: database.gatewayURL, simulator: simulator.url)
        try await Program.succeed(["check"], environment: environment)
        try await replace("prices", of: "prices", with: [Any]())
        let tier: [String: Any] = ["name": "free", "requests_per_minute": 600, "models": ["unheard-of"]]
        try await replace("tiers", of: "limits", with: [tier])
        let (status, output) = try await Program.run(["check"], environment: environment)
        #expect(status != 0 && output.contains("prices: no price for simulator sim-coach-1"), "\(output)")
        #expect(output.contains("tiers: free: none of its models can be used in the default route"), "\(output)")
    }

    @Test("an invalid body has a finding for each error and changes nothing; nor does a dry run")
    func findings() async throws {
        let testBed = try await TestBed.shared()
        let editor = TestUser(gateway: testBed.gateway, role: "operator")
        let wrong: [String: Any] = ["id": "mindset", "version": 0, "tone": 7, "extra": true]
        let answer = try await editor.send("PUT", Self.fitness, ["body": wrong], headers: ["If-Match": "*"])
        #expect(answer.status == 422 && answer.errorCode == "VAL_3001", "\(answer.text)")
        for field in ["body.id", "body.version", "body.tone", "body.system_prompt", "body.extra"] {
            #expect(answer.findingFields.contains(field), "\(field)")
        }
        for (path, body) in [("PUT", ["body": []]), ("PUT", [:]), ("PUT", ["body": wrong, "reason": 1])] as [(String, [String: Any])] {
            #expect(try await editor.send(path, Self.fitness, body, headers: ["If-Match": "*"]).status == 422)
        }
        let prices = "/api/v1/operator/prices"
        let current = try await editor.send("GET", prices)
        let json = try JSONSerialization.jsonObject(with: Data(current.body)) as? [String: Any]
        var list = try #require((json?["data"] as? [String: Any])?["body"] as? [String: Any])
        list["note"] = "dry"
        let dry = try await editor.send("PUT", "\(prices)?dry_run=true", ["body": list], headers: ["If-Match": "*"])
        #expect(dry.status == 200 && dry.data.objects("operations").map { $0["path"] } == ["/note"], "\(dry.text)")
        #expect(try await editor.send("GET", prices).headers["etag"] == current.headers["etag"])
        #expect(try await editor.send("POST", "\(prices)/rollback", ["version": 99], headers: ["If-Match": "*"]).errorCode == "VAL_3001")
        for path in [
            "\(Self.fitness)/versions/9", "\(Self.fitness)/versions/x", "\(Self.fitness)/versions/99999999999",
            "/api/v1/operator/domain-configs/x",
        ] {
            #expect(try await editor.send("GET", path).status == 404, "\(path)")
        }
        for query in ["diff?from=x", "diff?to=77", "versions?cursor=-1", "versions?limit=0"] {
            #expect(try await editor.send("GET", "\(Self.fitness)/\(query)").status == 422, "\(query)")
        }
    }

    @Test("a dry run of a domain configuration counts what would have been routed differently, in steps and without any text")
    func replay() async throws {
        let (database, simulator) = (try await Database.ofItsOwn(), try await Simulator())
        // Set here, because a script in a message would be among the words that are routed.
        try await simulator.always(["words": 1])
        defer { withExtendedLifetime(simulator) {} }
        let gateway = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
        let (editor, word) = (TestUser(gateway: gateway, role: "operator"), "zorbing")
        let messages = ["\(word)", "I love \(word)", "My \(word) \(word)"]
        for message in messages { expectDone(try await gateway.testUser().chat(message)) }
        for message in messages { expectDone(try await editor.chat(message)) }
        expectDone(try await gateway.testUser().chat("My \(word)", ["domain": "mindset"]))
        let current = try await editor.send("GET", Self.fitness)
        let json = try JSONSerialization.jsonObject(with: Data(current.body)) as? [String: Any]
        var body = try #require((json?["data"] as? [String: Any])?["body"] as? [String: Any])
        func dryRun() async throws -> JSONObject {
            let answer = try await editor.send("PUT", "\(Self.fitness)?dry_run=true", ["body": body], headers: ["If-Match": "*"])
            #expect(answer.status == 200 && !answer.text.contains("My ") && !answer.text.contains("love"), "\(answer.text)")
            return answer.data.object("decisions")
        }
        let same = try await dryRun()
        #expect(same.number("messages") == 3 && same["changed"] == "<5", "a pin is not the router's decision: \(same)")
        var routing = try #require(body["routing"] as? [String: [String: [String]]])
        routing["en"]?["3"]?.append(word)
        body["routing"] = routing
        let few = try await dryRun()
        #expect(few["changed"] == "<5" && few.objects("changes").isEmpty, "\(few) tells that somebody used the word")
        let talkative = gateway.testUser()
        for message in messages + messages { expectDone(try await talkative.chat(message)) }
        let fewUsers = try await dryRun()
        #expect(fewUsers.number("messages") == 9 && fewUsers["changed"] == "<5" && fewUsers.objects("changes").isEmpty, "\(fewUsers)")
        for message in Array(repeating: messages, count: 5).joined() { expectDone(try await gateway.testUser().chat(message)) }
        let many = try await dryRun()
        #expect(many.number("messages") == 24, "\(many)")
        let numbers = [many.number("changed")] + many.objects("changes").map { $0.number("messages") }
        #expect(numbers.count > 1 && numbers.allSatisfy { $0.map { $0 > 0 && $0 % 5 == 0 } == true }, "\(many)")
        #expect(many.objects("changes").allSatisfy { $0["to"] == "fitness" }, "\(many)")
    }

    @Test("operators' routes require the role operator", arguments: [nil, "creator"])
    func roles(role: String?) async throws {
        let testBed = try await TestBed.shared()
        let user = role.map { TestUser(gateway: testBed.gateway, role: $0) } ?? testBed.testUser()
        for (method, path) in [
            ("GET", "/api/v1/operator/domain-configs"), ("GET", Self.fitness), ("PUT", Self.fitness), ("GET", "/api/v1/operator/audit"),
            ("GET", "/api/v1/operator/costs"),
            ("GET", "/api/v1/operator/users?id=\(user.id)"), ("POST", "/api/v1/operator/users/\(user.id)/suspend"),
            ("GET", "/api/v1/operator/prices"), ("POST", "/api/v1/operator/prices/rollback"),
        ] {
            let answer = try await user.send(method, path, method == "GET" ? nil : ["body": [:]], headers: ["If-Match": "*"])
            #expect(answer.status == 403 && answer.errorCode == "AUTH_1003", "\(method) \(path)")
        }
    }

    @Test("an operator gets costs by group in JSON and CSV; an invalid query is rejected")
    func costs() async throws {
        let testBed = try await TestBed.shared()
        let (editor, user) = (TestUser(gateway: testBed.gateway, role: "operator"), testBed.testUser())
        expectDone(try await user.chat("Hello \(sim(["words": 2]))"))
        let path = "/api/v1/operator/costs"
        var mine: [JSONObject] = []
        try await eventually("the turn in the figures") {
            // All tests' users are there: more than fill a page unless it is a long one.
            let answer = try await editor.send("GET", "\(path)?group_by=user,model,day&limit=5000")
            mine = answer.list.filter { $0["user_id"] == user.id }
            return !mine.isEmpty
        }
        #expect(mine.count == 1 && mine[0].number("turns") == 1 && mine[0]["model"] == "sim-coach-1")
        #expect(mine[0]["cost_usd"]?.hasPrefix("0.000") == true && mine[0]["day"]?.hasSuffix("T00:00:00.000Z") == true)
        let csv = try await editor.send("GET", "\(path)?group_by=provider", headers: ["Accept": "text/csv"])
        #expect(csv.text.hasPrefix("day,model,provider,") && csv.text.contains(",simulator,"))
        for query in [
            "from=yesterday", "to=2026-13-01", "group_by=message", "grain=minute", "from=2026-02-01&to=2026-01-01", "from=1900-01-01",
        ] {
            #expect(try await editor.send("GET", "\(path)?\(query)").status == 422, "\(query)")
        }
        #expect(try await editor.send("GET", "\(path)?from=2026-01-01T00:00:00Z&to=2026-01-31").status == 200)
    }

    @Test("an operator reads an account, suspends it, and ends the suspension")
    func suspension() async throws {
        let testBed = try await TestBed.shared()
        let (editor, user) = (TestUser(gateway: testBed.gateway, role: "operator"), testBed.testUser())
        let path = "/api/v1/operator/users"
        #expect(try await editor.send("GET", "\(path)?id=\(user.id)").status == 404)
        expectDone(try await user.chat("Hello \(sim(["words": 1]))"))
        let status = try await editor.send("GET", "\(path)?id=\(user.id)")
        #expect(status.data.number("messages_today") == 1 && status.data.isNull("suspended_at") && status.data["spent_today_usd"] != nil)
        #expect(status.data.texts("entitlements").isEmpty && status.data.isNull("access_until"))
        try await testBed.database.fresh.psql("insert into gateway.user_entitlements values ('\(user.id)', 'pro', false, 'infinity')")
        let entitled = try await editor.send("GET", "\(path)?id=\(user.id)").data
        #expect(entitled.texts("entitlements") == ["pro"] && entitled.isNull("access_until"))
        for wrong in [[:], ["reason": ""], ["reason": "removal"], ["reason": 1]] as [[String: Any]] {
            #expect(try await editor.send("POST", "\(path)/\(user.id)/suspend", wrong).errorCode == "VAL_3001")
        }
        let suspended = try await editor.send("POST", "\(path)/\(user.id)/suspend", ["reason": "spam"])
        #expect(suspended.status == 200 && suspended.data["suspended_reason"] == "spam")
        #expect(try await user.chat("Hello?").errorCode == "AUTH_1003")
        #expect(try await editor.send("POST", "\(path)/\(user.id)/unsuspend").data.isNull("suspended_at"))
        expectDone(try await user.chat("Hello \(sim(["words": 1]))"))
        for path in ["\(path)?id=x", path] { #expect(try await editor.send("GET", path).status == 422) }
        #expect(try await editor.send("POST", "\(path)/x/suspend", ["reason": "spam"]).status == 404)
    }
}
