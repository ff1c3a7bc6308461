import Foundation
import TestSupport
import Testing

@Suite("After a message in danger", .paced)
struct SafetyStateTests {
    private static let quick = sim(["words": 3])
    private static let acute = "I have a plan to kill myself"

    /// The fixed opening of suicide at tier 3.
    private static let opening = "I'm really glad you told me"
    /// The message of a card for the stored level alone.
    private static let reminder = "You told me about something hard before"

    private func events(of user: TestUser) async throws -> [JSONObject] {
        try await TestBed.shared().database.rows(
            """
            select e.* from gateway.crisis_events e join users u using (account_id) where u.id = '\(user.id)' order by e.created_at, e.stage
            """)
    }

    @Test("an answer in acute danger opens with the fixed text, then comes the model, and a replay has both")
    func opening() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let said = "Are you alone right now?"
        let answer = try await user.chat("\(Self.acute) \(sim(["text": said]))", ["country": "US", "client_message_id": "k"])
        #expect(answer.eventTypes == ["start", "safety", "token", "usage", "done"])
        #expect(answer.content.hasPrefix(Self.opening) && answer.content.hasSuffix("\n\n\(said)"), "\(answer.content)")
        #expect(answer.first("done")?["finish_reason"] == "stop" && answer.first("done")?.id == "\(answer.content.utf8.count)")
        let stored = try await testBed.database.messages(of: user.id, role: "assistant")
        #expect(stored.map { $0["content"] } == [answer.content])
        let replay = try await user.chat("\(Self.acute) \(sim(["text": said]))", ["client_message_id": "k"])
        #expect(replay.content == answer.content)
        let event = try #require(try await events(of: user).first)
        #expect(event["stage"] == "grammar" && event["action"] == "opening" && event.number("tier") == 3)
        #expect(event["jurisdiction"] == "US" && event["category"] == "suicide" && event.object("versions").number("grammar") != nil)
        #expect(!event.names.contains("content") && event.texts("patterns").allSatisfy { !$0.contains(" ") })
    }

    @Test("a message whose answer failed has the same tier when it is repeated, and when it is retried")
    func again() async throws {
        let testBed = try await TestBed.shared()
        let gateway = try await testBed.anotherGateway()
        let user = gateway.testUser()
        let message = "I make myself throw up after dinner \(sim(["http_error": ["status": 500]]))"
        let failed = try await user.chat(message, ["country": "US", "client_message_id": "k"])
        #expect(failed.eventTypes.prefix(2) == ["start", "safety"])
        let (turn, card) = (try #require(failed.first("start")?["turn_id"]), try #require(failed.first("safety")).fields)
        #expect(card.number("tier") == 2)
        for again in [
            try await user.chat(message, ["country": "US", "client_message_id": "k"]),
            try await user.send("POST", "/functions/v1/chat-stream/\(turn)/retry"),
        ] {
            let repeated = try #require(again.first("safety"), "\(again.text)").fields
            #expect(repeated.number("tier") == 2 && repeated.texts("categories") == card.texts("categories"), "\(again.text)")
        }
        withExtendedLifetime(gateway) {}
    }

    @Test("a later turn that fails has the resources before its error, and none when it succeeds")
    func failure() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let conversation = try #require(try await user.chat("\(Self.acute) \(Self.quick)").first("start")?["conversation_id"])
        let calm = try await user.chat("What shall I cook? \(Self.quick)", ["conversation_id": conversation])
        #expect(calm.eventTypes.first == "start" && calm.eventTypes.last == "done" && calm.first("safety") == nil, "\(calm.text)")
        let failed = try await user.chat(
            "And tomorrow? \(sim(["http_error": ["status": 500]]))", ["conversation_id": conversation, "country": "US"])
        #expect(failed.eventTypes == ["start", "safety", "error"], "\(failed.text)")
        #expect(failed.first("safety")?.fields.objects("resources").isEmpty == false)
        #expect(failed.first("safety")?["message"]?.hasPrefix(Self.reminder) == true, "\(failed.text)")
        let turn = try #require(failed.first("start")?["turn_id"])
        let replayed = try await user.send("GET", "\(Browser.chatPath)/\(turn)")
        #expect(replayed.eventTypes == ["start", "safety", "error"], "a replay has them, too: \(replayed.text)")
        let resumed = try await user.resume(turn, after: "7")
        #expect(resumed.eventTypes == ["start", "safety", "error"], "of a client that has text, too: \(resumed.text)")
        #expect(resumed.first("safety")?.id == "0")
        let persona = try await testBed.database.listedPersona()
        let elsewhere = try await user.chat("Hello \(sim(["http_error": ["status": 500]]))", ["persona_id": persona, "country": "US"])
        #expect(elsewhere.eventTypes == ["start", "safety", "error"], "with another persona: \(elsewhere.text)")
    }

    @Test("at tier 4 the opening has the emergency number")
    func emergency() async throws {
        let answer = try await TestBed.shared().testUser().chat("I took all my pills \(Self.quick)", ["country": "GB"])
        #expect(answer.first("safety")?.fields.number("tier") == 4)
        let opening = try #require(answer.content.components(separatedBy: "\n\n").first)
        #expect(opening.contains("999"), "\(answer.content)")
    }

    @Test("a provider that is cut inside its first sentence is followed by another, after the opening and without a fragment")
    func cutOpening() async throws {
        let testBed = try await TestBed.shared()
        let (first, second) = (try await Simulator(), try await Simulator())
        let gateway = try await testBed.gateway(routing: [first, second])
        try await first.always(["tokens": ["Half ", "a ", "sentence"], "cut_after_tokens": 2])
        try await second.always(["text": "Are you alone?"])
        let answer = try await gateway.testUser().chat(Self.acute, ["country": "US"])
        #expect(answer.content.hasPrefix(Self.opening) && answer.content.hasSuffix("\n\nAre you alone?"), "\(answer.content)")
        #expect(!answer.content.contains("Half") && answer.first("done")?["finish_reason"] == "stop")
        #expect(answer.first("usage")?["provider"] == "second")
    }

    @Test("the stored state alone shows the card at the first turn of a conversation and every tenth, not in between")
    func reminder() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let first = try await user.chat("I want to kill myself \(Self.quick)", ["country": "US"])
        let conversation = try #require(first.first("start")?["conversation_id"])
        for number in 2...11 {
            let answer = try await user.chat("Plan my week \(Self.quick)", ["conversation_id": conversation, "country": "US"])
            #expect(answer.eventTypes.contains("safety") == (number == 10), "turn \(number)")
        }
        let other = try await user.chat("Plan my week \(Self.quick)", ["client_message_id": "k", "country": "US"])
        let card = try #require(other.first("safety"))
        #expect(card["severity"] == "concern" && card.fields.number("tier") == 2 && !card.fields.objects("resources").isEmpty)
        #expect(card["message"]?.hasPrefix(Self.reminder) == true, "\(card.fields)")
        let replay = try await user.chat("Plan my week \(Self.quick)", ["client_message_id": "k"])
        #expect(replay.first("safety")?.data == card.data)
        let actions = try await events(of: user).map { $0["action"] }
        #expect(actions == ["card", "reminder", "reminder"])
    }

    @Test("the start has the notice of talking to a machine once in three hours, the same in a replay, and one for minors")
    func disclosure() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        func notice(_ answer: Answer) -> JSONObject? { answer.first("start")?.fields.object("disclosure") }
        let first = try await user.chat("Hello \(Self.quick)", ["client_message_id": "k", "locale": "es-ES"])
        #expect(notice(first)?["text"]?.contains("inteligencia artificial") == true && notice(first)?["version"] == "2")
        let second = try await user.chat("Hello again \(Self.quick)")
        #expect(second.first("start")?.fields.isNull("disclosure") == true)
        let replay = try await user.chat("Hello \(Self.quick)", ["client_message_id": "k", "locale": "es-ES"])
        #expect(replay.first("start")?.data.contains(#""disclosure":{"#) == true && notice(replay)?["text"] == notice(first)?["text"])
        try await testBed.database.fresh.psql(
            """
            update rate_limits set disclosed_at = now() - interval '181 minutes' where user_id = '\(user.id)';
            update users set is_minor = true where id = '\(user.id)'
            """)
        let word = marker()
        let third = try await user.chat("Hello \(word) \(Self.quick)")
        #expect(notice(third)?["text"]?.contains("take a break") == true)
        let request = try #require(try await testBed.simulator.requests(containing: word).first)
        #expect(request.system.contains("The person is under age"))
    }

    @Test("operators read counts by day and the report of a year, as JSON and CSV; nobody else does")
    func figures() async throws {
        let testBed = try await TestBed.shared()
        for _ in 0..<5 { _ = try await testBed.testUser().chat("I want to kill myself \(Self.quick)", ["country": "NZ"]) }
        let editor = TestUser(gateway: testBed.gateway, role: "operator")
        let year = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: Date()).year ?? 0
        let path = "/api/v1/operator/safety"
        let days = try await editor.browser.send("GET", path)
        let row = try #require(days.json.objects("data").first { $0["jurisdiction"] == "NZ" })
        #expect(row.number("referrals") == 5 && row["replaced"] == "<5" && row.number("tier") == 2 && row["category"] == "suicide")
        let csv = try await editor.browser.send("GET", path, headers: ["Accept": "text/csv"]).text
        #expect(csv.hasPrefix("day,tier,category,jurisdiction,referrals,replaced") && csv.contains(",2,suicide,NZ,5,<5"))
        let compared = try await editor.browser.send("GET", "\(path)?group_by=day,jurisdiction&compare=previous")
        let both = try #require(compared.json.objects("data").first { $0["jurisdiction"] == "NZ" })
        #expect(both["previous_referrals"] == "<5" && both.isNull("tier") && both["day"] == row["day"], "\(compared.text)")
        #expect(compared.json.object("meta")["trace"] == nil, "safety figures lead to no calls")
        // Two periods that differ by less than a day would show one event.
        for (parameters, field) in [("group_by=day&grain=hour", "grain"), ("tz=Pacific/Auckland", "tz")] {
            #expect(try await editor.browser.send("GET", "\(path)?\(parameters)").error.object("details")["field"] == field)
        }
        let day = try #require(row["day"])
        let quarter = day.replacing("T00:00:00.000Z", with: "T00:15:00Z")
        let whole = try await editor.browser.send("GET", "\(path)?group_by=jurisdiction&from=\(day)&to=\(quarter)").json.objects("data")
        #expect(quarter != day && whole.first { $0["jurisdiction"] == "NZ" }?.number("referrals") == 5, "\(whole)")
        #expect(try await editor.browser.send("GET", "\(path)?group_by=user").errorCode == "VAL_3001")
        let report = try await editor.browser.send("GET", "\(path)/report?year=\(year)")
        let exact = try #require(report.json.objects("data").first { $0["jurisdiction"] == "NZ" })
        #expect(exact.number("referrals") == 5 && exact.number("replaced") == 0)
        #expect(try await editor.browser.send("GET", "\(path)/report?year=x").errorCode == "VAL_3001")
        #expect(try await editor.browser.send("GET", "\(path)/report").json.objects("data").isEmpty)
        #expect(try await testBed.testUser().browser.send("GET", path).status == 403)
    }
}
