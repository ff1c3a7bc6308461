import Foundation
import TestSupport
import Testing

/// A gateway is killed while a turn waits for its second call.
@Suite("The second call of a killed gateway", .paced)
struct SecondCallTests {
    private struct Row: Equatable {
        var call: Int
        var revision: Int
        var model: String?
        var finalizedBy: String?
        var isEstimated: Bool
    }

    private func rows(_ database: Database, _ user: TestUser) async throws -> [Row] {
        try await database.rows(
            "select l.* from usage_logs l join users u using (account_id) where u.id = '\(user.id)' order by call, revision"
        ).map {
            Row(
                call: $0.number("call") ?? 0, revision: $0.number("revision") ?? -1, model: $0["model"], finalizedBy: $0["finalized_by"],
                isEstimated: $0.flag("estimated") == true)
        }
    }

    @Test("is in the ledger once, as what it was: estimated when it had text, failed when nothing was known of it")
    func killed() async throws {
        let simulator = try await Simulator()
        let database = try await Database.ofItsOwn()
        let root = try Folder.routing(["sim-first", "sim-second"], through: simulator)
        func gateway(_ state: StateFolder) async throws -> Gateway {
            try await Gateway(database: database.gatewayURL, simulator: nil, environment: state.state(root.environment))
        }
        let state = try StateFolder()
        let killed = try await gateway(state)
        let (speaking, silent) = (killed.testUser(), killed.testUser())
        let refusal = sim(["model": "sim-first", "http_error": ["status": 503]])
        let text = try await speaking.openStream("Hello \(refusal) \(sim(["model": "sim-second", "words": 400, "pace_ms": 20]))").until(
            bytes: 30)
        let mark = marker()
        let waiting = Task { try? await silent.chat("Hello \(mark) \(refusal) \(sim(["model": "sim-second", "hang": true]))", timeout: 20) }
        try await eventually("the second call") { try await simulator.requests(containing: mark).count == 2 }
        // The checkpoint of the first turn has its text and its calls.
        try await eventually("a checkpoint") {
            try await database.rows(
                "select 1 as one from gateway.running_turns where user_id = '\(speaking.id)' and model is not null and calls is not null"
            ).count == 1
        }
        try await killed.program.kill9()
        _ = await waiting.value
        let one = try await gateway(state)
        _ = try await database.settledAnswer(of: speaking.id)
        _ = try await database.settledAnswer(of: silent.id)
        #expect(!text.turnID.isEmpty)
        #expect(
            try await rows(database, speaking) == [
                Row(call: 1, revision: 0, model: nil, finalizedBy: nil, isEstimated: false),
                Row(call: 1, revision: 1, model: "sim-second", finalizedBy: "recovery", isEstimated: true),
                Row(call: 3, revision: 0, model: nil, finalizedBy: nil, isEstimated: false),
                Row(call: 3, revision: 1, model: "sim-first", finalizedBy: nil, isEstimated: false),
            ])
        let other = try await rows(database, silent)
        #expect(other.map(\.call) == [1, 1, 3, 3] && other.map(\.revision) == [0, 1, 0, 1], "\(other)")
        #expect(other.allSatisfy { $0.finalizedBy == nil && !$0.isEstimated })
        #expect(try await database.isBalanced())
        #expect(try await one.readiness() == 200)
    }
}
