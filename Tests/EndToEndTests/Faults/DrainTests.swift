import Foundation
import TestSupport
import Testing

extension Gateway {
    /// Waits up to 5 s for the log record "drained", and returns whether the process then exited with 0. The exit has its own, longer
    /// limit, because Foundation reports the exit of a process some seconds late on a busy machine.
    fileprivate func hasDrained() async throws -> Bool {
        try await eventually(within: .seconds(5), "the end of the drain\n\(program.output)") { log.contains { $0["message"] == "drained" } }
        return try await program.exit(within: 20) == 0
    }
}

@Suite("Drain", .paced)
struct DrainTests {
    @Test("hands over long turns: `retry: 500`, no `done`, the other instance has exactly the rest, and can stop them; then it ends")
    func handOver() async throws {
        let pair = try await Pair.another(["COACH_DRAIN_SECONDS": "1"])
        let (testUser, other) = (pair.one.testUser(), pair.one.testUser())
        let first = try await testUser.openStream("Hello \(sim(["words": 120, "pace_ms": 50]))").until(bytes: 10)
        let subscriber = try await testUser.follow(first.turnID).until(bytes: 1)
        let long = try await other.openStream("Hello \(sim(["words": 800, "pace_ms": 50]))").until(bytes: 10)
        let asked = ContinuousClock.now
        pair.one.program.signal(SIGTERM)
        for reader in [first, subscriber, long] {
            try await reader.toEnd()
            #expect(reader.end == nil && reader.retry == 500, "\(reader.eventTypes)")
        }
        #expect(asked.duration(to: .now) < .seconds(3.5), "\(asked.duration(to: .now))")
        #expect(try await other.at(pair.other.port).stop(long.turnID).status == 200)
        let rest = try await testUser.at(pair.other.port).follow(first.turnID, after: first.position).toEnd()
        #expect(rest.end?["finish_reason"] == "stop" && rest.eventTypes == ["start", "token", "usage", "done"])
        let (turn, content) = try await pair.database.settledAnswer(of: testUser.id)
        #expect(turn["status"] == "complete" && turn["finalized_by"] == "owner" && content == first.text + rest.text)
        #expect(content.split(separator: " ").count == 120)
        #expect(try await pair.one.hasDrained())
        #expect(try await pair.database.usage(of: testUser.id).count == 1)
        #expect(try await pair.database.settledAnswer(of: other.id).turn["status"] == "stopped")
    }

    @Test("also hands over subscribers of another instance's turn")
    func mirrored() async throws {
        let pair = try await Pair.another(["COACH_DRAIN_SECONDS": "1"])
        let testUser = pair.one.testUser()
        let first = try await testUser.openStream("Hello \(sim(["words": 200, "pace_ms": 50]))").until(bytes: 10)
        let subscriber = try await testUser.at(pair.other.port).follow(first.turnID).until(bytes: 1)
        let asked = ContinuousClock.now
        pair.other.program.signal(SIGTERM)
        try await subscriber.toEnd()
        #expect(subscriber.end == nil && subscriber.retry == 500 && asked.duration(to: .now) < .seconds(3.5))
        #expect(try await pair.other.hasDrained())
        let rest = try await testUser.follow(first.turnID, after: subscriber.position).toEnd()
        #expect(try await first.toEnd().text == subscriber.text + rest.text)
    }

    @Test("makes readiness false before connections are refused")
    func readinessFirst() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_DRAIN_SECONDS": "1"])
        gateway.program.signal(SIGTERM)
        var seen: [Int] = []
        while let status = try? await gateway.readiness() { seen.append(status) }
        #expect(seen.last == 503, "\(seen)")
        #expect(try await gateway.hasDrained())
    }

    @Test("readiness is false for the configured time before connections are refused")
    func notice() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_DRAIN_SECONDS": "1", "COACH_DRAIN_NOTICE_SECONDS": "3"])
        gateway.program.signal(SIGTERM)
        try await eventually("readiness to be false") { try await gateway.readiness() == 503 }
        let start = ContinuousClock.now
        while (try? await gateway.readiness()) == 503 { try await Task.sleep(for: .milliseconds(20)) }
        let lasted = start.duration(to: .now)
        #expect(lasted > .seconds(2) && lasted < .seconds(5), "\(lasted)")
        #expect(try await gateway.hasDrained())
    }
}
