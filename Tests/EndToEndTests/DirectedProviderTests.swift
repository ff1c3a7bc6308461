import Foundation
import Testing

/// Scripts of the simulator that cannot be in the message, because the message must be the same twice, or would be too long.
@Suite("A provider with queued scripts", .serialized, .paced)
struct DirectedProviderTests {
    /// A simulator with a queue of scripts, only for these tests, and a gateway that uses it.
    private static let testBed = Task {
        let simulator = try await Simulator()
        let shared = try await TestBed.shared()
        return (simulator: simulator, gateway: try await Gateway(database: shared.database.gatewayURL, simulator: simulator.url))
    }

    private func testUser(_ scripts: [[String: Any]]) async throws -> TestUser {
        let body = Array(try JSONSerialization.data(withJSONObject: scripts))
        let (simulator, gateway) = try await Self.testBed.value
        let answer = try await Browser(port: simulator.port).send("POST", "/simulator/scripts", body: body)
        #expect(answer.status == 200, "\(answer.text)")
        return gateway.testUser()
    }

    @Test(
        "that refuses is called again by a repeated request: same message, same turn, next attempt",
        arguments: [["http_error": ["status": 400]], ["empty": true], ["error_after_tokens": 0]] as [[String: any Sendable]])
    func again(fault: [String: any Sendable]) async throws {
        let testBed = try await TestBed.shared()
        let testUser = try await testUser([fault, ["words": 5, "first_token_ms": 0]])
        let word = marker()
        let failed = try await testUser.chat("Hello \(word)", ["client_message_id": "once"])
        #expect(failed.eventTypes.first == "start" && failed.eventTypes.last == "error")
        let answered = try await testUser.chat("Hello \(word)", ["client_message_id": "once"])
        #expect(answered.eventTypes == ["start", "token", "usage", "done"])
        let (first, second) = (try #require(failed.first("start")), try #require(answered.first("start")))
        for field in ["turn_id", "conversation_id", "user_message_id"] { #expect(first[field] == second[field], "\(field)") }
        let turn = try await testBed.database.turn(of: testUser.id)
        #expect(turn.number("attempt") == 2 && turn["status"] == "complete" && turn.isNull("error_code"))
        let sent = try await testBed.database.messages(of: testUser.id, role: "user")
        #expect(sent.count == 1 && sent.first?["status"] == "complete" && sent.first?["id"] == second["user_message_id"])
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").map { $0["content"] } == [answered.content])
        #expect(try await testBed.database.usage(of: testUser.id).last?.number("attempt") == 2)
        #expect(try await Self.testBed.value.simulator.requests(containing: word).count == 2)
    }

    @Test(
        "that refuses once with a transient error is called again at once, without an error for the client",
        arguments: [["http_error": ["status": 500]], ["http_error": ["status": 429]]] as [[String: any Sendable]])
    func secondTry(fault: [String: any Sendable]) async throws {
        let testUser = try await testUser([fault, ["words": 5, "first_token_ms": 0]])
        let answer = try await testUser.chat("Hello")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.endAfter < .seconds(3))
        #expect(try await TestBed.shared().database.usage(of: testUser.id).count == 1)
    }

    @Test("that closes the connection without a response is not called again, because it may have billed the first call")
    func noSecondTry() async throws {
        let testUser = try await testUser([["drop": true], ["words": 5, "first_token_ms": 0]])
        let word = marker()
        let answer = try await testUser.chat("Hello \(word)", ["client_message_id": "once"])
        #expect(answer.eventTypes == ["start", "error"] && answer.first("error")?["code"] == "EXT_4001")
        #expect(try await Self.testBed.value.simulator.requests(containing: word).count == 1)
        // Only a retry by the user calls it again.
        #expect(try await testUser.chat("Hello \(word)", ["client_message_id": "once"]).eventTypes.last == "done")
    }

    @Test("that sends too much is cut at 64 KiB between two characters, with finish_reason length")
    func endless() async throws {
        let testBed = try await TestBed.shared()
        let piece = String(repeating: "日本語", count: 30)
        let testUser = try await testUser([
            ["tokens": Array(repeating: piece, count: 400), "first_token_ms": 0, "pace_ms": 0, "tokens_per_write": 50]
        ])
        let answer = try await testUser.chat("Hello")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.first("done")?["finish_reason"] == "length")
        #expect(answer.content.utf8.count == 65_535 && !answer.content.unicodeScalars.contains("\u{FFFD}"))
        #expect(answer.first("done")?.id == "65535")
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").first?["content"] == answer.content)
    }
}
