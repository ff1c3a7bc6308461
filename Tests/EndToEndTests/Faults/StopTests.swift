import Foundation
import TestSupport
import Testing

@Suite("Stop", .paced)
struct StopTests {
    @Test("reaches the provider within 100 ms, keeps and bills the text, and ends the streams of all subscribers")
    func immediate() async throws {
        let pair = try await Pair.shared()
        var delays: [Double] = []
        // The median of several, because one may be delayed by other work of the machine.
        for _ in 0..<5 {
            let testUser = pair.one.testUser()
            let word = marker()
            let first = try await testUser.openStream("Hello \(word) \(sim(["words": 400, "pace_ms": 20]))").until(bytes: 60)
            let near = try await testUser.follow(first.turnID).until(bytes: 1)
            let far = try await testUser.at(pair.other.port).follow(first.turnID).until(bytes: 1)
            let asked = Date()
            let answer = try await testUser.stop(first.turnID)
            #expect(answer.status == 200 && answer.json.object("data")["status"] == "stopped", "\(answer.text)")
            let (outcome, closed) = try await pair.simulator.end(of: word)
            #expect(outcome == "client_closed")
            delays.append(closed.timeIntervalSince(asked))

            let (turn, content) = try await pair.database.settledAnswer(of: testUser.id)
            #expect(turn["status"] == "stopped" && turn["finish_reason"] == "stopped")
            for reader in [first, near, far] {
                try await reader.toEnd()
                #expect(reader.eventTypes == ["start", "token", "usage", "done"] && reader.end?["finish_reason"] == "stopped")
                #expect(reader.text == content && reader.end?.id == "\(content.utf8.count)")
            }
            let bills = try await pair.database.usage(of: testUser.id)
            #expect(bills.count == 1 && bills[0].flag("estimated") == true && bills[0].number("tokens_out") ?? 0 > 0)
        }
        #expect(delays.sorted()[2] < 0.1, "\(delays)")
    }

    @Test("can be repeated, also after the turn has ended: the response has the turn's status", arguments: [false, true])
    func again(elsewhere: Bool) async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let asker = elsewhere ? testUser.at(pair.other.port) : testUser
        let first = try await testUser.openStream("Hello \(sim(["words": 200, "pace_ms": 20]))").until(bytes: 20)
        for _ in 0..<3 {
            let answer = try await asker.stop(first.turnID)
            #expect(answer.status == 200 && answer.json.object("data")["status"] == "stopped", "\(answer.text)")
        }
        let whole = try await testUser.chat("Hello \(sim(["words": 3]))")
        let answer = try await asker.stop(try #require(whole.first("start")?["turn_id"]))
        #expect(answer.status == 200 && answer.json.object("data")["status"] == "complete", "\(answer.text)")
        #expect(try await pair.database.usage(of: testUser.id).count == 2)
    }

    @Test("from another instance ends the turn too, and reaches the provider within 100 ms")
    func elsewhere() async throws {
        let pair = try await Pair.shared()
        var delays: [Double] = []
        for _ in 0..<5 {
            let testUser = pair.one.testUser()
            let word = marker()
            let first = try await testUser.openStream("Hello \(word) \(sim(["words": 400, "pace_ms": 20]))").until(bytes: 60)
            let asked = Date()
            let answer = try await testUser.at(pair.other.port).stop(first.turnID)
            #expect(answer.status == 200)
            let (outcome, closed) = try await pair.simulator.end(of: word)
            #expect(outcome == "client_closed")
            delays.append(closed.timeIntervalSince(asked))
            #expect(try await first.toEnd().end?["finish_reason"] == "stopped")
            let (turn, content) = try await pair.database.settledAnswer(of: testUser.id)
            #expect(turn["status"] == "stopped" && content == first.text)
        }
        #expect(delays.sorted()[2] < 0.1, "\(delays)")
    }

    @Test("racing with the natural end leaves one end, one answer and one bill, in twenty runs")
    func race() async throws {
        let pair = try await Pair.shared()
        let endings = try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<20 {
                group.addTask {
                    let testUser = pair.one.testUser()
                    let script = sim(["words": 12, "pace_ms": 10])
                    let first = try await testUser.openStream("Hello \(script)").until { $0.events.count > 8 + index % 5 }
                    let answer = try await testUser.at(index % 4 == 3 ? pair.other.port : pair.one.port).stop(first.turnID)
                    try await first.toEnd()
                    let (turn, content) = try await pair.database.settledAnswer(of: testUser.id)
                    let reason = first.end?["finish_reason"] ?? ""
                    #expect(answer.status == 200 && first.end?.type == "done")
                    #expect(turn["status"] == (reason == "stopped" ? "stopped" : "complete") && turn["finish_reason"] == reason)
                    #expect(answer.json.object("data")["status"] == turn["status"])
                    #expect(first.text == content)
                    #expect(try await pair.database.usage(of: testUser.id).count == 1)
                    return reason
                }
            }
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(Set(endings).isSubset(of: ["stop", "stopped"]))
    }

    @Test("before the first word reaches the provider within 100 ms, leaves no answer and no wrong bill, and the conversation can continue")
    func beforeTheFirstWord() async throws {
        let pair = try await Pair.shared()
        var delays: [Double] = []
        for _ in 0..<5 {
            let testUser = pair.one.testUser()
            let word = marker()
            let first = try await testUser.openStream("Hello \(word) \(sim(["words": 5, "first_token_ms": 4000]))").until {
                !$0.turnID.isEmpty
            }
            try await eventually("the call") { try await !pair.simulator.requests(containing: word).isEmpty }
            let asked = Date()
            #expect(try await testUser.stop(first.turnID).status == 200)
            let (outcome, closed) = try await pair.simulator.end(of: word)
            #expect(outcome == "client_closed")
            delays.append(closed.timeIntervalSince(asked))
            try await first.toEnd()
            #expect(first.text.isEmpty && first.end?["finish_reason"] == "stopped")
            #expect(try await pair.database.settledAnswer(of: testUser.id).turn["status"] == "stopped")
            #expect(try await pair.database.messages(of: testUser.id, role: "assistant").isEmpty)
            #expect(try await pair.database.usage(of: testUser.id).count <= 1)
            let conversation = try #require(first.events.first?["conversation_id"])
            let listed = try await testUser.browser.send("GET", "/api/v1/conversations/\(conversation)/messages")
            #expect(listed.json.objects("data").count == 1, "\(listed.text)")
            expectDone(try await testUser.chat("And now? \(sim(["words": 2]))", ["conversation_id": conversation]))
        }
        #expect(delays.sorted()[2] < 0.1, "\(delays)")
    }

    @Test("is done by deleting the conversation, also for remote subscribers; the turn is still billed")
    func deletion() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let word = marker()
        let first = try await testUser.openStream("Hello \(word) \(sim(["words": 400, "pace_ms": 20]))").until(bytes: 60)
        let conversation = try #require(first.events.first?["conversation_id"])
        let far = try await testUser.at(pair.other.port).follow(first.turnID).until(bytes: 1)
        let deleted = try await testUser.at(pair.other.port).browser.send("DELETE", "/api/v1/conversations/\(conversation)")
        #expect((200...299).contains(deleted.status), "\(deleted.text)")
        #expect(try await pair.simulator.end(of: word).outcome == "client_closed")
        for reader in [first, far] { #expect(try await reader.toEnd().end?["finish_reason"] == "stopped") }
        try await eventually("the bill") { try await pair.database.usage(of: testUser.id).count == 1 }
        let usages = [first, far].compactMap { reader in reader.events.last { $0.type == "usage" }?.fields }
        #expect(usages.first?.number("output_tokens") ?? 0 > 0 && usages.first?["cost_usd"] != nil)
        #expect(usages.last?.isNull("output_tokens") == true && usages.last?.isNull("cost_usd") == true, "not known, and not zero")
        #expect(far.end?.id == "\(far.bytes.count)")
    }
}
