import Foundation
import TestSupport
import Testing

@Suite("Subscribers", .paced)
struct SubscriberTests {
    @Test("a second device and ten subscribers on two instances receive the same text from one model call")
    func ten() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let word = marker()
        let first = try await testUser.openStream("Hello \(word) \(sim(["text": wideText, "pace_ms": 60]))").until { !$0.turnID.isEmpty }
        let turn = first.turnID
        let others = try await withThrowingTaskGroup(of: StreamReader.self) { group in
            for index in 0..<10 {
                group.addTask { try await testUser.at(index % 2 == 0 ? pair.one.port : pair.other.port).follow(turn).toEnd() }
            }
            return try await group.reduce(into: [StreamReader]()) { $0.append($1) }
        }
        try await first.toEnd()
        for reader in others + [first] {
            #expect(reader.text == wideText && reader.eventTypes == ["start", "token", "usage", "done"])
        }
        #expect(try await pair.simulator.requests(containing: word).count == 1)
        #expect(try await pair.database.usage(of: testUser.id).count == 1)
    }

    @Test("the seventeenth additional stream of a turn is rejected")
    func seventeen() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 60, "pace_ms": 60]))").until { !$0.turnID.isEmpty }
        var others: [StreamReader] = []
        for _ in 0..<16 { others.append(try await testUser.follow(first.turnID).until { !$0.turnID.isEmpty }) }
        let refused = try await testUser.resume(first.turnID, after: "0")
        #expect(refused.status == 429 && refused.errorCode == "BIZ_2010" && refused.headers["retry-after"] != nil, "\(refused.text)")
        // When one ends, another is accepted.
        others.removeLast().hangUp()
        try await eventually("a place") {
            let reader = try await testUser.follow(first.turnID)
            others.append(reader)
            return reader.status == 200
        }
        #expect(try await testUser.stop(first.turnID).status == 200)
        for reader in others where reader.status == 200 { try await reader.toEnd() }
    }

    @Test("a client that closes its connection frees its place at once; a client that only stops sending is still served")
    func silentPlaces() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let script = sim(["words": 3, "first_token_ms": 4500])
        let first = try await testUser.openStream("Hello \(script)").until { !$0.turnID.isEmpty }
        var others: [StreamReader] = []
        for _ in 0..<16 { others.append(try await testUser.follow(first.turnID).until { !$0.turnID.isEmpty }) }
        #expect(try await testUser.resume(first.turnID, after: "0").status == 429)
        let left = ContinuousClock.now
        others.removeLast().close()
        var next: StreamReader?
        try await eventually("a place") {
            next = try await testUser.follow(first.turnID)
            return next?.status == 200
        }
        #expect(left.duration(to: .now) < .seconds(2), "\(left.duration(to: .now))")
        others[0].closeForWriting()
        #expect(try await others[0].toEnd().end?["finish_reason"] == "stop")
        #expect(try await next?.toEnd().end?["finish_reason"] == "stop")
    }

    @Test("a hundred identical concurrent requests on two instances make one message, call and bill, and get the same answer")
    func hundred() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let word = marker()
        let message = "Hello \(word) \(sim(["text": wideText, "pace_ms": 40]))"
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for index in 0..<100 {
                let own = testUser.at(index % 2 == 0 ? pair.one.port : pair.other.port)
                group.addTask { try await own.chat(message, ["client_message_id": "once"]) }
            }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 200 } == 100, "\(Set(answers.filter { $0.status != 200 }.map(\.text)))")
        #expect(answers.allSatisfy { $0.content == wideText && $0.eventTypes == ["start", "token", "usage", "done"] })
        #expect(Set(answers.map { $0.first("start")?["turn_id"] }).count == 1)
        #expect(try await pair.simulator.requests(containing: word).count == 1)
        #expect(try await pair.database.usage(of: testUser.id).count == 1)
        #expect(try await pair.database.messages(of: testUser.id, role: "user").count == 1)
        #expect(try await pair.database.messages(of: testUser.id, role: "assistant").count == 1)
    }

    @Test("the same key with another body is rejected on the other instance too")
    func otherBody() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        #expect(try await testUser.chat("Hello \(sim(["words": 2]))", ["client_message_id": "k"]).status == 200)
        let refused = try await testUser.at(pair.other.port).chat("Something else", ["client_message_id": "k"])
        #expect(refused.status == 422 && refused.errorCode == "BIZ_2009")
    }

    @Test("a conversation has one running turn across instances")
    func oneTurn() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let running = try await testUser.openStream("Hello \(sim(["words": 40, "pace_ms": 50]))").until { !$0.turnID.isEmpty }
        let conversation = try #require(running.events.first?["conversation_id"])
        let refused = try await testUser.at(pair.other.port).chat("Me too", ["conversation_id": conversation])
        #expect(refused.status == 409 && refused.errorCode == "BIZ_2007")
        #expect(try await testUser.stop(running.turnID).status == 200)
    }

    @Test("a silent stream gets a comment within 10 s, on the owner and on another instance", .patient)
    func heartbeat() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let here = try await testUser.openStream("Hello \(sim(["words": 4, "stall_after_tokens": 2, "stall_ms": 12500]))")
        try await here.until(bytes: 1)
        let start = ContinuousClock.now
        let there = try await testUser.at(pair.other.port).follow(here.turnID).until(bytes: 1)
        async let near = here.until { $0.pings == 1 }
        async let far = there.until { $0.pings == 1 }
        _ = try await (near, far)
        #expect(here.pings == 1 && there.pings == 1 && start.duration(to: .now) < .seconds(10.5))
        try await here.toEnd()
        try await there.toEnd()
        #expect(here.end?.type == "done" && there.end?.type == "done")
    }
}
