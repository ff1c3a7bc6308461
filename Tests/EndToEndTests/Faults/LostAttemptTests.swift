import Foundation
import Testing

/// A client has read text that the gateway had not saved when it crashed, and the turn's next attempt has begun: what does a resume return?
@Suite("Resuming with text of a lost attempt", .paced)
struct LostAttemptTests {
    /// A turn whose first attempt was lost, and of which a client has text.
    private struct Lost: Sendable {
        var testUser: TestUser
        var message: String
        var turn: String
        var read: Int

        static let key = ["client_message_id": "k"]

        func tryAgain() async throws -> StreamReader { try await testUser.openStream(message, Self.key).until { !$0.turnID.isEmpty } }
    }

    /// Two gateways, of which the first was killed and started again, and a turn for each script.
    private struct Fixture: Sendable {
        var database: Database
        var one: Gateway
        var other: Gateway
        var turns: [Lost]

        init(_ scripts: [[String: Any]]) async throws {
            let simulator = try await TestBed.shared().simulator
            let database = try await Database.ofItsOwn()
            self.database = database
            let folder = try StateFolder()
            func gateway(_ folder: StateFolder) async throws -> Gateway {
                try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folder.state())
            }
            let killed = try await gateway(folder)
            other = try await gateway(try StateFolder())
            var lost: [Lost] = []
            var readers: [StreamReader] = []
            for script in scripts {
                let (testUser, message) = (killed.testUser(), "Hello \(sim(script))")
                let first = try await testUser.openStream(message, Lost.key).until { !$0.turnID.isEmpty }
                #expect(first.events.first?.fields.number("attempt") == nil)
                readers.append(first)
                lost.append(Lost(testUser: testUser, message: message, turn: first.turnID, read: 0))
            }
            for (index, reader) in readers.enumerated() { lost[index].read = try await reader.until(bytes: 30).bytes.count }
            try await killed.program.kill9()
            // As if it had crashed before the first checkpoint.
            try await database.fresh.psql("delete from gateway.checkpoints; update gateway.running_turns set provider = null")
            one = try await gateway(folder)
            for index in lost.indices {
                lost[index].testUser = lost[index].testUser.at(one.port)
                #expect(try await database.settledAnswer(of: lost[index].testUser.id, within: 4).turn["status"] == "failed")
            }
            turns = lost
        }
    }

    private func expectLost(_ answer: Answer, attempt: Int = 2) {
        #expect(answer.status == 200 && answer.eventTypes == ["start", "error"], "\(answer.text)")
        #expect(answer.first("start")?.fields.number("attempt") == attempt)
        let error = answer.first("error")
        #expect(error?.fields.flag("partial") == true && error?.fields.number("kept_bytes") == 0 && error?.id == "0", "\(answer.text)")
        #expect(error?.fields.flag("retryable") == true)
    }

    @Test("failed: nothing is kept; running: the client is told at once on the owner; stopped without text: no `done`")
    func stopped() async throws {
        let fixture = try await Fixture([["words": 400, "pace_ms": 20, "first_token_ms": 1500]])
        let lost = fixture.turns[0]
        let failed = try await lost.testUser.resume(lost.turn, after: "\(lost.read)")
        #expect(failed.eventTypes == ["start", "error"] && failed.first("error")?.fields.number("kept_bytes") == 0, "\(failed.text)")
        let second = try await lost.tryAgain()
        #expect(second.turnID == lost.turn && second.events.first?.fields.number("attempt") == 2)
        expectLost(try await lost.testUser.resume(lost.turn, after: "\(lost.read)"))
        // Another instance does not know the released length: the client is told at the end.
        async let far = lost.testUser.at(fixture.other.port).resume(lost.turn, after: "\(lost.read)")
        async let near = lost.testUser.at(fixture.other.port).follow(lost.turn).toEnd()
        #expect(try await lost.testUser.stop(lost.turn).status == 200)
        try await second.toEnd()
        #expect(second.text.isEmpty && second.end?["finish_reason"] == "stopped")
        expectLost(try await far)
        #expect(try await near.end?["finish_reason"] == "stopped")
        for port in [fixture.one.port, fixture.other.port] {
            expectLost(try await lost.testUser.at(port).resume(lost.turn, after: "\(lost.read)"))
            let whole = try await lost.testUser.at(port).resume(lost.turn, after: "0")
            #expect(whole.first("done")?["finish_reason"] == "stopped", "\(whole.text)")
        }
        #expect(try await fixture.database.messages(of: lost.testUser.id, role: "assistant").isEmpty)
        try await fixture.database.endanger(lost.testUser.id)
        let endangered = try await lost.testUser.resume(lost.turn, after: "\(lost.read)")
        #expect(endangered.eventTypes == ["start", "safety", "error"], "\(endangered.text)")
    }

    @Test("after attempts that providers refused alone, a cursor beyond the end of the next one is VAL_3001 as that of any turn")
    func refused() async throws {
        let simulator = try await Simulator()
        let gateway = try await TestBed.shared().gateway(routing: [simulator])
        let testUser = gateway.testUser()
        try await simulator.always(["http_error": ["status": 400]])
        let failed = try await testUser.chat("Hello", Lost.key)
        #expect(failed.eventTypes == ["start", "error"], "\(failed.text)")
        try await simulator.always(["text": "Here."])
        let second = try await testUser.chat("Hello", Lost.key)
        expectDone(second)
        #expect(second.first("start")?.fields.number("attempt") == 2)
        let turn = try #require(second.first("start")?["turn_id"])
        let beyond = try await testUser.resume(turn, after: "\(second.content.utf8.count + 1)")
        #expect(beyond.status == 422 && beyond.errorCode == "VAL_3001", "\(beyond.text)")
        #expect(beyond.error.object("details")["field"] == "after")
        withExtendedLifetime(gateway) {}
    }

    @Test("completed or interrupted: a client with more text than is kept must drop it, one with less gets the rest")
    func ended() async throws {
        // Five seconds, so that neither ends before the kill on a busy machine.
        let fixture = try await Fixture([["words": 100, "pace_ms": 50], ["words": 100, "pace_ms": 50, "cut_after_tokens": 90]])
        let (complete, cut) = (fixture.turns[0], fixture.turns[1])
        async let interrupted = cut.tryAgain().toEnd()
        let second = try await complete.tryAgain().toEnd()
        #expect(second.end?["finish_reason"] == "stop")
        let count = second.bytes.count
        for port in [fixture.one.port, fixture.other.port] {
            expectLost(try await complete.testUser.at(port).resume(complete.turn, after: "\(count + 1)"))
            let rest = try await complete.testUser.at(port).resume(complete.turn, after: "\(count - 6)")
            #expect(rest.content == String(second.text.suffix(6)))
        }
        let partial = try await interrupted
        let kept = partial.bytes.count
        #expect(partial.end?.fields.flag("partial") == true && partial.end?.fields.number("kept_bytes") == kept)
        expectLost(try await cut.testUser.resume(cut.turn, after: "\(kept + 1)"))
        let rest = try await cut.testUser.resume(cut.turn, after: "3")
        #expect(rest.first("error")?.fields.number("kept_bytes") == kept && rest.content == String(partial.text.dropFirst(3)))
    }
}
