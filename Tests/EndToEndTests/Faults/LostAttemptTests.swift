import Foundation
import Testing

/// A client has read text that the gateway had not saved when it crashed, and the turn's next attempt has begun: what does a resume return?
@Suite("Resuming with text of a lost attempt", .paced)
struct LostAttemptTests {
    /// Two gateways, and a turn in its second attempt, of whose first attempt a client has text.
    private struct Ground {
        var database: Database
        var one: Gateway
        var other: Gateway
        var testUser: TestUser
        var message: String
        var turn: String
        var read: Int

        init(_ script: [String: Any]) async throws {
            let simulator = try await TestBed.shared().simulator
            let database = try await Database.ofItsOwn()
            self.database = database
            let folder = try StateFolder()
            func gateway(_ folder: StateFolder) async throws -> Gateway {
                try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folder.state())
            }
            let killed = try await gateway(folder)
            other = try await gateway(try StateFolder())
            let testUser = killed.testUser()
            message = "Hello \(sim(script))"
            let first = try await testUser.openStream(message, Self.key).until(bytes: 30)
            #expect(first.events.first?.fields.number("attempt") == nil)
            (turn, read) = (first.turnID, first.bytes.count)
            try await killed.program.kill9()
            // As if it had crashed before the first checkpoint.
            try await database.fresh.psql("delete from gateway.checkpoints; update gateway.running_turns set provider = null")
            one = try await gateway(folder)
            self.testUser = testUser.at(one.port)
            #expect(try await database.settledAnswer(of: testUser.id, within: 4).turn["status"] == "failed")
        }

        static let key = ["client_message_id": "k"]

        func tryAgain() async throws -> StreamReader { try await testUser.openStream(message, Self.key).until { !$0.turnID.isEmpty } }
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
        let ground = try await Ground(["words": 400, "pace_ms": 20, "first_token_ms": 1500])
        let failed = try await ground.testUser.resume(ground.turn, after: "\(ground.read)")
        #expect(failed.eventTypes == ["start", "error"] && failed.first("error")?.fields.number("kept_bytes") == 0, "\(failed.text)")
        let second = try await ground.tryAgain()
        #expect(second.turnID == ground.turn && second.events.first?.fields.number("attempt") == 2)
        expectLost(try await ground.testUser.resume(ground.turn, after: "\(ground.read)"))
        // Another instance does not know the released length: the client is told at the end.
        async let far = ground.testUser.at(ground.other.port).resume(ground.turn, after: "\(ground.read)")
        async let near = ground.testUser.at(ground.other.port).follow(ground.turn).toEnd()
        #expect(try await ground.testUser.stop(ground.turn).status == 200)
        try await second.toEnd()
        #expect(second.text.isEmpty && second.end?["finish_reason"] == "stopped")
        expectLost(try await far)
        #expect(try await near.end?["finish_reason"] == "stopped")
        for port in [ground.one.port, ground.other.port] {
            expectLost(try await ground.testUser.at(port).resume(ground.turn, after: "\(ground.read)"))
            let whole = try await ground.testUser.at(port).resume(ground.turn, after: "0")
            #expect(whole.first("done")?["finish_reason"] == "stopped", "\(whole.text)")
        }
        #expect(try await ground.database.messages(of: ground.testUser.id, role: "assistant").isEmpty)
    }

    @Test("completed or interrupted: a client with more text than is kept must drop it, one with less gets the rest")
    func ended() async throws {
        let complete = try await Ground(["words": 40, "pace_ms": 50])
        let second = try await complete.tryAgain().toEnd()
        #expect(second.end?["finish_reason"] == "stop")
        let count = second.bytes.count
        for port in [complete.one.port, complete.other.port] {
            expectLost(try await complete.testUser.at(port).resume(complete.turn, after: "\(count + 1)"))
            let rest = try await complete.testUser.at(port).resume(complete.turn, after: "\(count - 6)")
            #expect(rest.content == String(second.text.suffix(6)))
        }
        let cut = try await Ground(["words": 60, "pace_ms": 50, "cut_after_tokens": 30])
        let partial = try await cut.tryAgain().toEnd()
        let kept = partial.bytes.count
        #expect(partial.end?.fields.flag("partial") == true && partial.end?.fields.number("kept_bytes") == kept)
        expectLost(try await cut.testUser.resume(cut.turn, after: "\(kept + 1)"))
        let rest = try await cut.testUser.resume(cut.turn, after: "3")
        #expect(rest.first("error")?.fields.number("kept_bytes") == kept && rest.content == String(partial.text.dropFirst(3)))
    }
}
