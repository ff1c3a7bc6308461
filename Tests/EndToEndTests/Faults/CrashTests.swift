import Foundation
import TestSupport
import Testing

@Suite("kill -9", .paced)
struct CrashTests {
    @Test("of the owner: remote subscribers get the kept text and its end within 10 s, at most 500 ms are lost, retry works")
    func ownerDies() async throws {
        let pair = try await Pair.fresh(["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let testUser = pair.one.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 800, "pace_ms": 25]))").until(bytes: 10)
        let subscriber = try await testUser.at(pair.other.port).follow(first.turnID).until(bytes: 1)
        // As much text as comes in two seconds; both clients receive it live.
        try await first.until(bytes: 500)
        try await subscriber.until(bytes: 300)
        let killed = ContinuousClock.now
        pair.one.program.signal(SIGKILL)
        async let near = first.toEnd()
        async let far = subscriber.toEnd()
        let (owner, survivor) = try await (near, far)
        #expect(killed.duration(to: .now) < .seconds(10), "\(killed.duration(to: .now))")

        #expect(owner.end == nil)
        let end = try #require(survivor.end)
        #expect(end.type == "error" && end.fields.flag("partial") == true && end.fields.flag("retryable") == true)
        let (turn, content) = try await pair.database.settledAnswer(of: testUser.id)
        #expect(turn["status"] == "interrupted" && turn["finalized_by"] == "recovery")
        #expect(end.fields.number("kept_bytes") == content.utf8.count && survivor.text == content)
        let due = owner.arrivals.last { $0.at.duration(to: killed) >= .milliseconds(500) }?.position ?? 0
        #expect(content.utf8.count >= due, "\(content.utf8.count) of \(due) bytes that were out half a second before the kill")
        #expect(owner.text.hasPrefix(content) || content.hasPrefix(owner.text))
        let bills = try await pair.database.usage(of: testUser.id)
        #expect(bills.count == 1 && bills[0].flag("estimated") == true)
        #expect(try await pair.database.isBalanced())
        let metricsPort = try await pair.other.metricsPort()
        try await eventually("the survivor's count of the turn that it ended") {
            let page = try await MetricsPage(port: metricsPort)
            return page.sum("coach_turns_total", #"status="interrupted""#) == 1 && page.sum("coach_cost_nanodollars_total") > 0
        }

        // A client with more text than was kept gets the kept length.
        let ahead = try await testUser.at(pair.other.port).follow(first.turnID, after: content.utf8.count + 50).toEnd()
        #expect(ahead.text.isEmpty && ahead.end?.type == "error" && ahead.end?.fields.number("kept_bytes") == content.utf8.count)
        let again = try await testUser.at(pair.other.port).openRetryStream(first.turnID).until(bytes: 1)
        #expect(again.status == 200 && !again.text.isEmpty && again.turnID != first.turnID)
        #expect(again.events.first?["user_message_id"] == first.events.first?["user_message_id"])
        #expect(try await testUser.at(pair.other.port).stop(again.turnID).status == 200)
    }

    /// A turn of a gateway that was killed and started again with the same state.
    private struct Killed: Sendable {
        var testUser: TestUser
        var message: String
        var turn: String

        static let key = ["client_message_id": "k"]
    }

    /// One turn of which text was kept, and one that was killed before its first word.
    private static let restarted = Task {
        let simulator = try await TestBed.shared().simulator
        let database = try await Database.ofItsOwn()
        let folder = try StateFolder()
        func gateway() async throws -> Gateway {
            try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folder.state())
        }
        let killed = try await gateway()
        func begin(_ script: [String: Any], until condition: @escaping @Sendable (StreamReader) -> Bool) async throws -> Killed {
            let (testUser, message) = (killed.testUser(), "Hello \(sim(script))")
            let stream = try await testUser.openStream(message, Killed.key).until(condition)
            return Killed(testUser: testUser, message: message, turn: stream.turnID)
        }
        let kept = try await begin(["words": 800, "pace_ms": 25]) { $0.bytes.count >= 40 }
        try await eventually("a checkpoint") {
            try await !database.rows("select 1 as one from gateway.checkpoints").isEmpty
        }
        let silent = try await begin(["words": 3, "first_token_ms": 3000]) { !$0.turnID.isEmpty }
        try await killed.program.kill9()
        let successor = try await gateway()
        func moved(_ turn: Killed) -> Killed {
            Killed(testUser: turn.testUser.at(successor.port), message: turn.message, turn: turn.turn)
        }
        for user in [kept, silent] { _ = try await database.settledAnswer(of: user.testUser.id, within: 4) }
        return (database: database, gateway: successor, kept: moved(kept), silent: moved(silent))
    }

    @Test("and a restart with the same state: the turn is finalized at once, its estimate billed once, and retry works")
    func sameState() async throws {
        let (database, _, killed, _) = try await Self.restarted.value
        let testUser = killed.testUser
        let (turn, content) = try await database.settledAnswer(of: testUser.id, within: 4)
        #expect(turn["status"] == "interrupted" && !content.isEmpty && killed.turn == turn["id"])
        // A repeated request gets the kept part, without a model call.
        let repeated = try await testUser.chat(killed.message, Killed.key)
        #expect(repeated.eventTypes == ["start", "token", "usage", "error"] && repeated.content == content)
        #expect(
            repeated.first("error")?.fields.flag("partial") == true
                && repeated.first("error")?.fields.number("kept_bytes") == content.utf8.count)
        let bills = try await database.usage(of: testUser.id)
        #expect(bills.count == 1 && bills[0].flag("estimated") == true && bills[0]["cost"] != nil)
        #expect(try await database.isBalanced(of: testUser.id))
        let stopped = try await testUser.stop(killed.turn)
        #expect(stopped.status == 200 && stopped.json.object("data")["status"] == "interrupted", "\(stopped.text)")
        let again = try await testUser.openRetryStream(killed.turn).until(bytes: 1)
        #expect(again.status == 200 && again.turnID != killed.turn)
        #expect(try await testUser.stop(again.turnID).status == 200)
        #expect(try await database.messages(of: testUser.id, role: "user").count == 1)
    }

    @Test("before the first word: the turn has failed, nothing is billed, and a repeated request retries it with the same id")
    func beforeTheFirstWord() async throws {
        let (database, _, _, killed) = try await Self.restarted.value
        let testUser = killed.testUser
        #expect(try await database.settledAnswer(of: testUser.id, within: 4).turn["status"] == "failed")
        let again = try await testUser.chat(killed.message, Killed.key)
        #expect(again.eventTypes == ["start", "token", "usage", "done"] && again.first("start")?["turn_id"] == killed.turn)
        #expect(try await database.messages(of: testUser.id, role: "user").count == 1)
        #expect(try await database.turn(of: testUser.id).number("attempt") == 2)
        #expect(try await database.isBalanced(of: testUser.id))
    }

    @Test("of the owner of a turn that is then stopped: a client that has more than was kept gets the kept length")
    func stoppedAfterwards() async throws {
        let pair = try await Pair.fresh()
        let testUser = pair.one.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 800, "pace_ms": 25]))").until(bytes: 10)
        try await testUser.at(pair.other.port).follow(first.turnID).until(bytes: 1)
        try await first.until(bytes: 300)
        try await pair.one.program.kill9()
        let survivor = testUser.at(pair.other.port)
        #expect(try await survivor.stop(first.turnID).status == 200)
        let (turn, content) = try await pair.database.settledAnswer(of: testUser.id)
        #expect(turn["status"] == "stopped" && turn["finalized_by"] == "recovery" && !content.isEmpty)
        let ahead = try await survivor.follow(first.turnID, after: content.utf8.count + 50).toEnd()
        let error = try #require(ahead.end)
        #expect(error.type == "error" && error.fields.flag("partial") == true && error.fields.number("kept_bytes") == content.utf8.count)
        let rest = try await survivor.follow(first.turnID, after: 0).toEnd()
        #expect(rest.text == content && rest.end?.fields["finish_reason"] == "stopped")
    }

    @Test("a second process with the same instance id, from a copied state folder, ends the first and finalizes its turns")
    func sameIdentity() async throws {
        let simulator = try await TestBed.shared().simulator
        let database = try await Database.ofItsOwn()
        let (folder, copy) = (try StateFolder(), try StateFolder())
        func gateway(_ folder: StateFolder) async throws -> Gateway {
            try await Gateway(database: database.gatewayURL, simulator: simulator.url, environment: folder.state())
        }
        let earlier = try await gateway(folder)
        let first = try await earlier.testUser().openStream("Hello \(sim(["words": 400, "pace_ms": 25]))").until(bytes: 40)
        try FileManager.default.copyItem(atPath: "\(folder.path)/1", toPath: "\(copy.path)/1")
        let later = try await gateway(copy)
        try await first.toEnd()
        #expect(first.end == nil)
        #expect(try await earlier.program.exit() != 0)
        #expect(earlier.log.contains { $0["level"] == "critical" })
        #expect(try await later.readiness() == 200)
        try await eventually("the end of its turn") {
            try await database.rows("select 1 as one from turns where status = 'running'").isEmpty
        }
    }
}
