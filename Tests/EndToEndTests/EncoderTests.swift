import Foundation
import TestSupport
import Testing

@Suite("The encoder", .serialized, .paced)
struct EncoderTests {
    /// What neither grammar nor linear model find.
    private static let message =
        "Last thing on the list is done, my sister has the dog now. After Sunday nobody has to look after me any more."

    /// What the first pass takes for an ordinary message, so that its turn begins before it is read.
    private static let ordinary = "I eat one apple on weekdays and on Sundays I earn the second one."

    private static func gateway(_ root: Folder? = nil) async throws -> Gateway {
        let files = root.map { ["COACH_ROOT": $0.path] } ?? [:]
        return try await TestBed.shared().anotherGateway(files.merging(["COACH_METRICS_LISTEN": "127.0.0.1:0"]) { $1 })
    }

    private static let usual = Task { try await gateway() }
    private static let limited = Task { try await gateway(oneMessageADay()) }

    private static func oneMessageADay() throws -> Folder {
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/tiers.json") { tiers in
            tiers["tiers"] = [["name": "free", "requests_per_minute": 20, "messages_per_day": 1, "concurrent_turns": 2]]
            tiers["crisis"] = ["model_calls_per_day": 3, "concurrent_turns": 2]
        }
        return root
    }

    @Test("reads what the first pass leaves open before the turn begins, with the card in the stream and the stage in the audit")
    func reads() async throws {
        let gateway = try await Self.usual.value
        let (user, metricsPort) = (gateway.testUser(), try await gateway.metricsPort())
        func raised() async throws -> Double {
            try await MetricsPage(port: metricsPort).sum("coach_encoder_messages_total", #"effect="raised""#)
        }
        let before = try await raised()
        let answer = try await user.chat(Self.message, ["country": "US"])
        #expect(answer.eventTypes.prefix(2) == ["start", "safety"])
        #expect(answer.first("safety")?.fields.texts("categories").first == "suicide")
        let event = try await TestBed.shared().database.row(
            "select e.* from gateway.crisis_events e join users u using (account_id) where u.id = '\(user.id)'")
        #expect(event["stage"] == "model" && event.texts("patterns").contains("model.suicide"))
        #expect(try await raised() == before + 1)
    }

    @Test("raises a message that seemed ordinary while its turn begins: its risk is saved, and no daily limit refuses it")
    func raises() async throws {
        let gateway = try await Self.limited.value
        let user = gateway.testUser()
        let answer = try await user.chat(Self.ordinary, ["country": "US", "client_message_id": "k"])
        #expect(answer.eventTypes.prefix(2) == ["start", "safety"] && answer.eventTypes.last == "done")
        let database = try await TestBed.shared().database
        func state() async throws -> (turns: [JSONObject], state: JSONObject) {
            (
                try await database.rows("select * from turns where user_id = '\(user.id)'"),
                try await database.row("select * from safety_states where user_id = '\(user.id)'")
            )
        }
        let first = try await state()
        #expect(first.turns.map { $0.number("risk_tier") } == [answer.first("safety")?.fields.number("tier")])
        #expect((first.state.number("level") ?? 0) >= 2)

        // The limit is reached, and the stored level is gone: what lets it in is the message alone.
        try await database.fresh.psql("delete from safety_states where user_id = '\(user.id)'")
        #expect(try await user.chat("Hello").errorCode == "BIZ_2002")
        let second = try await user.chat(Self.ordinary, ["country": "US"])
        #expect(second.status == 200 && second.eventTypes.contains("safety"), "\(second.error)")
        try await database.fresh.psql("delete from safety_states where user_id = '\(user.id)'")
        let unknown = try await user.chat(Self.ordinary, ["country": "US", "domain": "gardening"])
        #expect(unknown.status == 200 && unknown.eventTypes.contains("safety"), "\(unknown.error)")
        #expect(try await state().turns.count == 3)
    }

    @Test("a fragment is read with the message before it, also when it is retried and when the client keeps the conversation")
    func fragment() async throws {
        let (gateway, database) = (try await Self.usual.value, try await TestBed.shared().database)
        func tiers(_ user: TestUser) async throws -> [Int] {
            let turns = try await database.rows("select * from turns where user_id = '\(user.id)' order by created_at")
            return turns.compactMap { $0.number("risk_tier") }
        }
        func conversation(_ before: String, _ message: String) async throws -> (user: TestUser, answers: [Answer]) {
            let user = gateway.testUser()
            let first = try await user.chat(before, ["country": "US"])
            let id = try #require(first.first("start")?["conversation_id"])
            return (user, [first, try await user.chat(message, ["country": "US", "conversation_id": id])])
        }
        let boots = "I need new hiking boots for Saturday, my old ones leak."
        let calm = try await conversation(boots, "I got them this morning.")
        #expect(calm.answers.allSatisfy { $0.first("safety") == nil && $0.eventTypes.last == "done" })
        #expect(try await tiers(calm.user) == [0, 0])
        // Neither message tells it alone, and no level is stored after the first one.
        let danger = try await conversation(
            "lost our house on the betting, wife and girls dont know yet, but theres my life insurance", "theyll be better off that way")
        #expect(danger.answers.map { $0.first("safety") != nil } == [false, true])
        let saved = try await tiers(danger.user)
        #expect(saved.count == 2 && saved[0] == 0 && saved[1] >= 2, "\(saved)")
        // The first message: a card, but no alarm, also when it is answered again.
        let alone = gateway.testUser()
        let first = try await alone.chat("I got them this morning.", ["country": "US"])
        let turnOfFirst = try #require(first.first("start")?["turn_id"])
        let retried = try await alone.send("POST", "/functions/v1/chat-stream/\(turnOfFirst)/retry")
        #expect([first, retried].allSatisfy { $0.first("safety")?["severity"] == "concern" }, "\(retried.text)")
        #expect(try await tiers(alone) == [2, 2])

        let china = "My grandmother left me her china and I never know where to keep it."
        let failed = try await conversation(china, "I put them in the car. \(sim(["http_error": ["status": 500]]))")
        let turn = try #require(failed.answers[1].first("start")?["turn_id"])
        let again = try await failed.user.send("POST", "/functions/v1/chat-stream/\(turn)/retry")
        #expect(failed.answers[1].first("safety") == nil && again.first("start") != nil, "\(again.text)")
        // Its error has the resources of the level that the first attempt has stored, but no card.
        #expect(again.first("safety")?.fields.texts("categories").isEmpty ?? true, "\(again.text)")

        let client = gateway.testUser()
        let messages = [("user", boots), ("assistant", "For which trail?"), ("user", "I got them this morning.")]
        let body: [String: Any] = ["model": "coach", "messages": messages.map { ["role": $0.0, "content": $0.1] }]
        _ = try await client.browser.send("POST", "/v1/chat/completions", body: Array(JSONSerialization.data(withJSONObject: body)))
        #expect(try await tiers(client) == [0])
    }

    @Test("a fragment that no limit refuses, because it may mean danger, has its card whatever was said before")
    func fragmentAtLimit() async throws {
        let gateway = try await Self.limited.value
        let user = gateway.testUser()
        let first = try await user.chat("I need new hiking boots for Saturday, my old ones leak.", ["country": "US"])
        let id = try #require(first.first("start")?["conversation_id"])
        #expect(try await user.chat("Hello", ["conversation_id": id]).errorCode == "BIZ_2002")
        let answer = try await user.chat("I got them this morning.", ["country": "US", "conversation_id": id])
        #expect(answer.eventTypes.prefix(2) == ["start", "safety"] && answer.eventTypes.last == "done", "\(answer.error)")
        let turn = try await TestBed.shared().database.row("select * from turns where user_id = '\(user.id)' and risk_tier > 0")
        #expect(turn.number("risk_tier") == answer.first("safety")?.fields.number("tier"))
    }

    @Test("many messages at once are answered all, read or not")
    func many() async throws {
        let gateway = try await Self.usual.value
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 0..<40 { group.addTask { try await gateway.testUser().chat("\(Self.message) \(number)", ["country": "US"]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 40 && answers.allSatisfy { $0.eventTypes.last == "done" })
        #expect(answers.contains { $0.eventTypes.contains("safety") })
    }

    @Test(
        "a missing file is a warning: the gateway serves without it",
        arguments: [("encoder", "without the encoders"), ("encoder-large", "without the large encoder")])
    func missing(name: String, warning: String) async throws {
        let root = try Folder.copyOfRoot()
        try FileManager.default.removeItem(atPath: root.path + "/domains/\(name).bin")
        let gateway = try await Self.gateway(root)
        #expect(gateway.program.output.contains(warning))
        let answer = try await gateway.testUser().chat("I want to kill myself", ["country": "US"])
        #expect(answer.eventTypes.contains("safety") && answer.eventTypes.last == "done")
    }
}
