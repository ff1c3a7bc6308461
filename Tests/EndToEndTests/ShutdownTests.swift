import Foundation
import TestSupport
import Testing

@Suite("SIGTERM", .paced)
struct ShutdownTests {
    @Test("with nothing running ends the gateway within 2 s, with status 0, and closes idle connections", arguments: [SIGTERM, SIGINT])
    func idle(signal: Int32) async throws {
        let gateway = try await TestBed.shared().anotherGateway()
        expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 2]))"))
        let head = Browser(port: gateway.port).head("GET", "/healthz", bodyCount: nil)
        let wires = try await Wire.run {
            let (silent, used) = (try Wire(port: gateway.port), try Wire(port: gateway.port))
            try used.send(head)
            _ = try used.readAnswer()
            return [silent, used]
        }
        gateway.program.signal(signal)
        #expect(try await gateway.program.exit(within: 2) == 0)
        wires.forEach { $0.close() }
    }

    @Test("lets running turns end, streams and saves them, also one whose client has disconnected, and rejects new ones")
    func draining() async throws {
        let testBed = try await TestBed.shared()
        let gateway = try await testBed.anotherGateway()
        let (testUser, gone) = (gateway.testUser(), gateway.testUser())
        async let running = testUser.chat("Tell me \(sim(["words": 25, "pace_ms": 100]))")
        try await eventually("the running turn") {
            try await testBed.database.rows("select id from turns where user_id = '\(testUser.id)'").count == 1
        }
        // Longer than the other turn, which would keep the process alive.
        let request = try gone.request("Tell me \(sim(["words": 50, "pace_ms": 80]))")
        try await Wire.run {
            let wire = try Wire(port: gateway.port)
            try wire.send(request)
            _ = try wire.readHead()
            try wire.read(untilEvent: "token")
            wire.reset()
        }
        gateway.program.signal(SIGTERM)
        // It reports that it is not ready, or no longer listens.
        try await eventually(within: .seconds(2), "readiness lost") { (try? await gateway.readiness()) != 200 }
        #expect(gateway.program.isRunning)
        if let refused = try? await gateway.testUser().chat("Too late") {
            #expect(refused.status == 503 && refused.errorCode == "SYS_5001" && refused.headers["retry-after"] != nil)
        }
        let answer = try await running
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content.split(separator: " ").count == 25)
        #expect(try await gateway.program.exit(within: 5) == 0)
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").map { $0["content"] } == [answer.content])
        #expect(try await testBed.database.turn(of: testUser.id)["status"] == "complete")
        let stored = try await testBed.database.messages(of: gone.id, role: "assistant")
        #expect(stored.count == 1 && stored.first?["content"]?.split(separator: " ").count == 50)
    }

    @Test("and a restart: the conversation continues")
    func startedAgain() async throws {
        let testBed = try await TestBed.shared()
        let first = try await testBed.anotherGateway()
        let testUser = first.testUser()
        let told = try await testUser.chat("My name is Ada \(sim(["text": "Hello, Ada."]))")
        let conversation = try #require(told.first("start")?["conversation_id"])
        first.program.signal(SIGTERM)
        #expect(try await first.program.exit(within: 5) == 0)

        let second = try await testBed.anotherGateway()
        let word = marker()
        let later = TestUser(gateway: second, id: testUser.id)
        expectDone(try await later.chat("What is my name? \(word) \(sim(["words": 2]))", ["conversation_id": conversation]))
        let request = try #require(try await testBed.simulator.requests(containing: word).first)
        #expect(request.messages.map(\.role) == ["system", "user", "assistant", "user"] && request.messages[2].content == "Hello, Ada.")
    }
}
