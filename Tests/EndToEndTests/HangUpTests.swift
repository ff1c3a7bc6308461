import Foundation
import TestSupport
import Testing

@Suite("A client that disconnects", .paced)
struct HangUpTests {
    enum End: String, Sendable, CaseIterable { case close, reset }

    /// How far the client reads before it disconnects.
    enum Reading: String, Sendable, CaseIterable {
        case notAtAll = "right after the request"
        case head = "after the head"
        case start = "after start"
        case token = "after the first token"
    }

    @Test("before its request is complete begins no turn", arguments: End.allCases)
    func incomplete(end: End) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let request = try testUser.request("Hello \(sim(["words": 2]))")
        // In the head, after it, in the body, and before its last byte.
        let head = try #require(request.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
        for sent in [0, 1, 30, head - 2, head, head + 10, request.count - 1] {
            try await Wire.run {
                let wire = try Wire(port: testBed.gateway.port)
                try wire.send(Array(request[..<sent]))
                if end == .reset { wire.reset() } else { wire.close() }
            }
        }
        let after = try await testUser.chat("Still there? \(sim(["words": 2]))")
        #expect(after.first("done") != nil && testBed.gateway.program.isRunning)
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").count == 1)
    }

    @Test("while it sends its request is no fault of the gateway", arguments: End.allCases)
    func cutBody(end: End) async throws {
        let testBed = try await TestBed.shared()
        let id = marker()
        let request = try testBed.testUser().request("Hello", headers: ["X-Request-ID": id, "Expect": "100-continue"])
        let head = try #require(request.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(Array(request[..<head]))
            #expect(try wire.readHead().status == 100)
            if end == .reset { wire.reset() } else { wire.close() }
        }
        func log() -> [JSONObject] { testBed.gateway.program.lines.filter { $0.contains(id) }.map { JSONObject($0) } }
        try await eventually("the end of the request") { log().contains { $0["message"] == "request" } }
        #expect(log().allSatisfy { $0["level"] == "info" && $0.number("status") == 400 })
    }

    @Test("after its request is complete can read the whole answer later", arguments: Reading.allCases, End.allCases)
    func complete(reading: Reading, end: End) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let words = marker()
        let request = try testUser.request(
            "Hello \(sim(["tokens": ["One ", "two ", "three ", words], "pace_ms": 60, "first_token_ms": 60]))")
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(request)
            if reading != .notAtAll { _ = try wire.readHead() }
            if reading == .start { try wire.read(untilEvent: "start") }
            if reading == .token { try wire.read(untilEvent: "token") }
            if end == .reset { wire.reset() } else { wire.close() }
        }
        try await eventually("the saved answer") {
            try await testBed.database.rows("select id from turns where user_id = '\(testUser.id)' and status <> 'running'").count == 1
        }
        let turn = try await testBed.database.turn(of: testUser.id)
        #expect(turn["status"] == "complete" && turn["finish_reason"] == "stop")
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").map { $0["content"] } == ["One two three \(words)"])
        #expect(try await testBed.database.usage(of: testUser.id).count == 1)
        #expect(testBed.gateway.program.isRunning)
    }

    @Test("gets the finished answer by repeating its request")
    func comesBack() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let message = "Hello \(sim(["words": 10, "pace_ms": 30]))"
        let request = try testUser.request(message, ["client_message_id": "k"])
        try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(request)
            _ = try wire.readHead()
            try wire.read(untilEvent: "token")
            wire.reset()
        }
        let answer = try await testUser.chat(message, ["client_message_id": "k"])
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content.split(separator: " ").count == 10)
        #expect(try await testBed.database.usage(of: testUser.id).count == 1)
    }
}
