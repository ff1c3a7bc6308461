import Foundation
import TestSupport
import Testing

@Suite("A repeated request", .paced)
struct IdempotencyTests {
    @Test("after the turn's end gets the same bytes, without a second model call or bill")
    func replay() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let word = marker()
        let message = "Hello \(word) \(sim(["words": 20]))"
        let first = try await testUser.chat(message, ["client_message_id": "a key"], headers: ["X-Request-ID": "same"])
        let second = try await testUser.chat(message, ["client_message_id": "a key"], headers: ["X-Request-ID": "same"])
        let third = try await testUser.chat(message, headers: ["Idempotency-Key": "a key", "X-Request-ID": "same"])
        for answer in [second, third] {
            #expect(answer.status == 200 && answer.content == first.content)
            // The split into events may differ; everything else is the same to the byte.
            let (told, again) = (first.events.filter { $0.type != "token" }, answer.events.filter { $0.type != "token" })
            #expect(told.map(\.type) == again.map(\.type) && told.map(\.id) == again.map(\.id))
            #expect(told.map(\.data) == again.map(\.data))
        }
        #expect(try await testBed.simulator.requests(containing: word).count == 1)
        #expect(try await testBed.database.usage(of: testUser.id).count == 1)
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").count == 1)
        // It does not count against the limits.
        #expect(third.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"])
    }

    @Test("16 times concurrently during the turn gets the same answer, from one model call")
    func together() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let word = marker()
        let message = "Hello \(word) \(sim(["words": 30, "pace_ms": 40]))"
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<16 { group.addTask { try await testUser.chat(message, ["client_message_id": "k"]) } }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(Set(answers.map(\.status)) == [200] && Set(answers.map(\.content)).count == 1)
        #expect(Set(answers.map { $0.first("start")?["turn_id"] }).count == 1)
        #expect(answers.allSatisfy { $0.eventTypes == ["start", "token", "usage", "done"] })
        #expect(try await testBed.simulator.requests(containing: word).count == 1)
        #expect(try await testBed.database.usage(of: testUser.id).count == 1)
    }

    @Test("20 times concurrently has at most 16 live streams; the others are rejected")
    func crowd() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let word = marker()
        let message = "Hello \(word) \(sim(["words": 20, "pace_ms": 100]))"
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<20 { group.addTask { try await testUser.chat(message, ["client_message_id": "k"]) } }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        let (served, others) = (answers.filter { $0.status == 200 }, answers.filter { $0.status != 200 })
        #expect(served.count >= 16 && Set(served.map(\.content)).count == 1)
        #expect(others.allSatisfy { $0.status == 429 && $0.errorCode == "BIZ_2010" && $0.headers["retry-after"] != nil })
        #expect(try await testBed.simulator.requests(containing: word).count == 1)
    }

    @Test("with another body is rejected", arguments: ["message", "domain", "persona_id", "conversation_id"])
    func otherBody(field: String) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let message = "Hello \(sim(["words": 2]))"
        let opening = try await testUser.chat(message)
        let conversation = try #require(opening.first("start")?["conversation_id"])
        let asked: [String: Any] = ["client_message_id": "k", "conversation_id": conversation]
        #expect(try await testUser.chat(message, asked).status == 200)
        let other: [String: String] = [
            "message": message + "!", "domain": "fitness", "persona_id": "00000000-0000-4000-8000-0000000000a1",
            "conversation_id": UUID().uuidString.lowercased(),
        ]
        var changed = asked.merging(["message": message]) { $1 }
        changed[field] = other[field]
        let body = try JSONSerialization.data(withJSONObject: changed)
        let refused = try await testUser.browser.post(String(decoding: body, as: UTF8.self))
        #expect(refused.status == 422 && refused.errorCode == "BIZ_2009" && refused.error["action"] == "go_back", "\(refused.text)")
    }

    @Test("by another user with the same key is another turn")
    func keysArePersonal() async throws {
        let testBed = try await TestBed.shared()
        let (one, two) = (testBed.testUser(), testBed.testUser())
        let message = "Hello \(sim(["words": 2]))"
        let answers = [
            try await one.chat(message, ["client_message_id": "shared"]), try await two.chat(message, ["client_message_id": "shared"]),
        ]
        #expect(Set(answers.compactMap { $0.first("start")?["turn_id"] }).count == 2)
    }

    @Test("of an interrupted turn gets the interrupted answer, not a new one")
    func interrupted() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let word = marker()
        let message = "Hello \(word) \(sim(["words": 9, "cut_after_tokens": 4]))"
        let first = try await testUser.chat(message, ["client_message_id": "k"])
        let second = try await testUser.chat(message, ["client_message_id": "k"])
        #expect(first.eventTypes == ["start", "token", "usage", "error"] && second.eventTypes == first.eventTypes)
        #expect(second.content == first.content)
        #expect(second.first("error")?.fields.flag("partial") == true)
        #expect(second.first("error")?.fields.number("kept_bytes") == first.content.utf8.count)
        #expect(try await testBed.simulator.requests(containing: word).count == 1)
    }

    @Test("of two concurrent messages in one conversation the second is rejected as in progress")
    func oneTurnAtATime() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let opening = try await testUser.chat("Hello \(sim(["words": 2]))")
        let conversation = try #require(opening.first("start")?["conversation_id"])
        async let running = testUser.chat("Slow \(sim(["words": 10, "pace_ms": 100]))", ["conversation_id": conversation])
        try await eventually("the running turn") {
            try await testBed.database.rows("select id from turns where user_id = '\(testUser.id)' and status = 'running'").count == 1
        }
        let refused = try await testUser.chat("Hello?", ["conversation_id": conversation])
        #expect(refused.status == 409 && refused.errorCode == "BIZ_2007" && refused.error["action"] == "wait")
        #expect(refused.headers["retry-after"] != nil || refused.error.number("retry_after") != nil)
        expectDone(try await running)
        expectDone(try await testUser.chat("And now? \(sim(["words": 2]))", ["conversation_id": conversation]))
    }
}
