import Foundation
import Testing

@Suite("Retry", .paced)
struct RetryTests {
    /// The prompt of the latest model call whose messages contain a word.
    private func prompt(_ word: String, _ simulator: Simulator) async throws -> String {
        try #require(try await simulator.requests(containing: word).last).messages.map(\.content).joined(separator: "\n")
    }

    @Test("of an interrupted turn is a new turn on the same message; the old part is kept, and not in the prompt")
    func interrupted() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let word = marker()
        let script = sim(["tokens": ["Oldpart", "\(word)a ", "and ", "more"], "cut_after_tokens": 3])
        let first = try await testUser.chat("Hello \(word) \(script)")
        #expect(first.eventTypes == ["start", "token", "usage", "error"])
        let start = try #require(first.first("start"))
        let again = try await testUser.at(pair.other.port).retry(try #require(start["turn_id"]))
        let second = try #require(again.first("start"), "\(again.text)")
        #expect(second["turn_id"] != start["turn_id"] && second["message_id"] != start["message_id"])
        #expect(second["user_message_id"] == start["user_message_id"] && second["conversation_id"] == start["conversation_id"])
        #expect(try await pair.database.messages(of: testUser.id, role: "user").count == 1)
        let answers = try await pair.database.messages(of: testUser.id, role: "assistant")
        #expect(answers.first { $0["id"] == start["message_id"] }?["status"] == "superseded")
        #expect(answers.first { $0["id"] == start["message_id"] }?["content"] == first.content)
        let shown = try await prompt("Hello \(word)", pair.simulator)
        // The script is part of the message.
        #expect(!shown.replacing(script, with: "").contains("Oldpart"))
    }

    @Test("of a complete turn makes a new answer; the next prompt has the new one and not the old one")
    func regenerate() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let word = marker()
        // Two answers to one message: the next call has another script.
        let first = try await testUser.chat("Please speak about \(word).")
        let start = try #require(first.first("start"))
        let again = try await testUser.retry(try #require(start["turn_id"]))
        #expect(again.eventTypes == ["start", "token", "usage", "done"], "\(again.text)")
        let second = try #require(again.first("start"))
        #expect(second["user_message_id"] == start["user_message_id"] && second["turn_id"] != start["turn_id"])
        let calls = try await pair.simulator.requests(containing: word)
        #expect(calls.count == 2)
        #expect(calls.last?.messages.contains { $0.role == "assistant" } == false)
        let next = try await testUser.chat(
            "And then? \(sim(["words": 2]))", ["conversation_id": try #require(start["conversation_id"])])
        #expect(next.status == 200)
        let history = try #require(try await pair.simulator.requests(containing: word).last).messages
        #expect(history.count { $0.role == "assistant" } == 1)
        let answers = try await pair.database.messages(of: testUser.id, role: "assistant")
        #expect(answers.count { $0["status"] == "superseded" } == 1 && answers.count { $0["status"] == "complete" } == 2)
        #expect(try await pair.database.usage(of: testUser.id).count == 3)
    }

    @Test("answers to one message are listed in the order in which they were made, page by page")
    func order() async throws {
        let testUser = try await Pair.shared().one.testUser()
        var turn = try #require(try await testUser.chat("Hello \(sim(["words": 2]))").first("start")).fields
        let conversation = try #require(turn["conversation_id"])
        var answers = [turn["message_id"]]
        for _ in 0..<6 {
            let retried = try await testUser.retry(turn["turn_id"] ?? "")
            turn = try #require(retried.first("start")).fields
            answers.append(turn["message_id"])
        }
        for limit in [1, 3, 20] {
            var (listed, cursor): ([String?], String?) = ([], nil)
            repeat {
                let more = cursor.map { "&cursor=\($0)" } ?? ""
                let page = try await testUser.send("GET", "/api/v1/conversations/\(conversation)/messages?limit=\(limit)\(more)")
                listed += page.list.map { $0["id"] }
                cursor = page.json.object("pagination")["next_cursor"]
            } while cursor != nil
            #expect(Array(listed.dropFirst()) == answers, "pages of \(limit)")
        }
    }

    @Test("of a running turn is rejected as in progress", arguments: [false, true])
    func running(elsewhere: Bool) async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 100, "pace_ms": 40]))").until { !$0.turnID.isEmpty }
        let refused = try await testUser.at(elsewhere ? pair.other.port : pair.one.port).retry(first.turnID)
        #expect(refused.status == 409 && refused.errorCode == "BIZ_2007", "\(refused.text)")
        #expect(try await testUser.stop(first.turnID).status == 200)
    }

    @Test("a repeated request retries a turn that failed without text: same ids, next attempt")
    func failed() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let word = marker()
        // The provider rejects every call of the first request, and answers the second.
        let refusal: [String: Any] = ["http_error": ["status": 400]]
        let message = "Hello \(word)"
        let key = ["client_message_id": "k"]
        let first = try await testUser.chat("\(message) \(sim(refusal))", key)
        #expect(first.eventTypes == ["start", "error"] && first.first("error")?.fields.flag("partial") == false)
        let second = try await testUser.chat("\(message) \(sim(refusal))", key)
        #expect(second.eventTypes == ["start", "error"])
        let (one, two) = (try #require(first.first("start")), try #require(second.first("start")))
        for name in ["turn_id", "user_message_id", "conversation_id"] { #expect(one[name] == two[name]) }
        let turn = try await pair.database.turn(of: testUser.id)
        #expect(turn.number("attempt") == 2 && turn["status"] == "failed")
        #expect(try await pair.database.messages(of: testUser.id, role: "user").count == 1)
        #expect(try await pair.database.usage(of: testUser.id).isEmpty)
    }
}
