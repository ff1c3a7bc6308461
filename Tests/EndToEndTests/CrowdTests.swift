import Foundation
import TestSupport
import Testing

@Suite("Concurrent clients", .paced)
struct CrowdTests {
    @Test("40 concurrent users each get their own answer, saved under its owner")
    func nobodyElses() async throws {
        let testBed = try await TestBed.shared()
        let people = (0..<40).map { _ in (testUser: testBed.testUser(), word: marker()) }
        let answers = try await withThrowingTaskGroup(of: (String, Answer).self) { group in
            for (testUser, word) in people {
                group.addTask {
                    let script = sim(["tokens": ["For ", word, " and nobody else"], "pace_ms": 50])
                    return (word, try await testUser.chat("I am \(word) \(script)"))
                }
            }
            return try await group.reduce(into: [(String, Answer)]()) { $0.append($1) }
        }
        for (word, answer) in answers { #expect(answer.content == "For \(word) and nobody else", "\(answer.text)") }
        let owners = people.map { "('\($0.testUser.id)'::uuid, '\($0.word)')" }.joined(separator: ",")
        let strays = try await testBed.database.rows(
            """
            select m.id from messages m join (values \(owners)) as own (user_id, word) on m.user_id = own.user_id
            where position(own.word in m.content) = 0
            """)
        #expect(strays.isEmpty)
    }

    @Test("a client that does not read delays no other client, and its answer is saved")
    func slowReader() async throws {
        let testBed = try await TestBed.shared()
        let (slow, other) = (testBed.testUser(), testBed.testUser())
        let request = try slow.request("Hello \(sim(["words": 1000, "tokens_per_write": 100]))")
        let wire = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(request)
            return wire
        }
        let answer = try await other.chat("Hello \(sim(["words": 3]))")
        #expect(answer.eventTypes.last == "done" && answer.endAfter < .seconds(3))
        try await eventually("the saved answer") {
            try await testBed.database.messages(of: slow.id, role: "assistant").first?["status"] == "complete"
        }
        // The whole answer is there when the client reads.
        let late = try await Wire.run { try wire.readAnswer() }
        #expect(late.content.split(separator: " ").count == 1000 && late.eventTypes.last == "done")
    }

    @Test("one connection serves several requests until a stream")
    func keepAlive() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let good = try testUser.request("Hello \(sim(["words": 3]))")
        let bad = try testUser.request("Hello", ["conversation_id": 7])
        let answers = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            return try [bad, bad, good].map { request in
                try wire.send(request)
                return try wire.readAnswer()
            }
        }
        #expect(answers.map(\.status) == [422, 422, 200] && answers.map(\.eventTypes.last) == [nil, nil, "done"])
        #expect(Set(answers.compactMap { $0.headers["x-request-id"] }).count == 3)
    }

    @Test("a request that arrives byte by byte is answered")
    func inPieces() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let request = try testUser.request("Hello \(sim(["words": 3]))")
        let trickled = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            for byte in request { try wire.send([byte]) }
            return try wire.readAnswer()
        }
        #expect(trickled.eventTypes.last == "done")
    }

    @Test("Expect: 100-continue gets a 100 and is served; with a body that is too large it is rejected without it")
    func expectContinue() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let body = try TestUser.body("Hello \(sim(["words": 3]))")
        let head = testUser.browser.head("POST", Browser.chatPath, bodyCount: body.count, headers: ["Expect": "100-continue"])
        let large = testUser.browser.head("POST", Browser.chatPath, bodyCount: 300 << 10, headers: ["Expect": "100-continue"])
        let (answer, refused) = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            try wire.send(head)
            let told = String(decoding: try wire.receive(until: "\r\n\r\n"), as: UTF8.self)
            #expect(told == "HTTP/1.1 100 Continue\r\n\r\n")
            try wire.send(body)
            let answer = try wire.readAnswer()
            let other = try Wire(port: testBed.gateway.port)
            try other.send(large)
            return (answer, try other.readHead().status)
        }
        #expect(answer.eventTypes.last == "done", "\(answer.text)")
        #expect(refused == 413)
    }

    @Test("a repeated request gets its turn from an instance that is full or draining")
    func repeatedThere() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_MAX_TURNS": "1", "COACH_DRAIN_NOTICE_SECONDS": "6"])
        let testUser = gateway.testUser()
        let message = "Slow \(sim(["words": 60, "pace_ms": 100]))"
        let running = try await testUser.openStream(message, ["client_message_id": "k"]).until(bytes: 10)
        let refused = try await gateway.testUser().chat("Me too")
        #expect(refused.status == 503 && refused.errorCode == "SYS_5001", "\(refused.text)")
        let again = try await testUser.openStream(message, ["client_message_id": "k"]).until(bytes: 1)
        #expect(again.status == 200 && again.turnID == running.turnID)
        #expect(try await testUser.chat("Another", ["client_message_id": "k"]).errorCode == "BIZ_2009")

        gateway.program.signal(SIGTERM)
        try await eventually("the drain") { try await gateway.readiness() == 503 }
        let late = try await testUser.openStream(message, ["client_message_id": "k"]).until(bytes: 1)
        #expect(late.status == 200 && late.turnID == running.turnID)
        #expect(try await gateway.testUser().chat("Me too").errorCode == "SYS_5001")
        for reader in [running, again, late] { #expect(try await reader.toEnd().end?["finish_reason"] == "stop") }
    }

    @Test("turns above the process limit are rejected with Retry-After, and with crisis resources for a message at risk")
    func overloaded() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_MAX_TURNS": "1"])
        let running = try await gateway.testUser().openStream("Slow \(sim(["words": 40, "pace_ms": 100]))").until(bytes: 1)
        let answer = try await gateway.testUser().chat("I want to kill myself \(sim(["words": 2]))", ["country": "GB"])
        #expect(answer.status == 503)
        #expect(answer.errorCode == "SYS_5001" && answer.error["action"] == "retry" && answer.headers["retry-after"] != nil)
        #expect(answer.text.contains("116 123"))
        #expect(try await running.toEnd().end?.type == "done")
    }

    @Test("of requests that come at the same time only as many begin a turn as the process limit allows")
    func crowded() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_MAX_TURNS": "3"])
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<12 { group.addTask { try await gateway.testUser().chat("Slow \(sim(["words": 40, "pace_ms": 100]))") } }
            return try await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        let refused = answers.filter { $0.status == 503 }
        #expect(refused.count == 9 && refused.allSatisfy { $0.errorCode == "SYS_5001" })
        let begun = answers.filter { $0.status == 200 }
        #expect(begun.count == 3)
        begun.forEach { expectDone($0) }
    }

    @Test("a suspended user is rejected, and still gets crisis resources")
    func suspended() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        expectDone(try await testUser.chat("Hello \(sim(["words": 2]))"))
        try await testBed.database.fresh.psql("update users set suspended_at = now() where id = '\(testUser.id)'")
        let refused = try await testUser.chat("Hello \(sim(["words": 2]))")
        #expect(refused.status == 403 && refused.errorCode == "AUTH_1003" && refused.error["action"] == "go_back")
        let crisis = try await testUser.chat("I want to kill myself", ["country": "GB"], headers: ["Accept": "text/event-stream"])
        #expect(crisis.status == 403 && crisis.eventTypes == ["safety", "error"] && crisis.text.contains("116 123"))
    }

    @Test("CORS allows configured origins only")
    func origins() async throws {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_CORS_ORIGINS": "https://app.example.org, https://b.example.org"])
        let browser = Browser(port: gateway.port)
        let asked = ["Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,x-client-info,apikey"]
        let welcome = try await browser.send(
            "OPTIONS", Browser.chatPath, headers: asked.merging(["Origin": "https://b.example.org"]) { $1 })
        #expect((200...204).contains(welcome.status) && welcome.headers["access-control-allow-origin"] == "https://b.example.org")
        let allowed = welcome.headers["access-control-allow-headers"]?.lowercased() ?? ""
        // The fields that supabase-js sends, those of request ids and traces, then those of openai-node.
        let sent = [
            "authorization", "x-client-info", "apikey", "content-type", "last-event-id", "idempotency-key", "x-region",
            "if-match", "if-none-match", "x-request-id", "x-correlation-id", "traceparent", "tracestate", "baggage",
            "user-agent", "openai-beta", "openai-organization", "openai-project", "x-stainless-arch", "x-stainless-lang", "x-stainless-os",
            "x-stainless-package-version", "x-stainless-retry-count", "x-stainless-runtime", "x-stainless-runtime-version",
            "x-stainless-timeout", "x-stainless-helper-method", "x-stainless-poll-helper", "x-stainless-custom-poll-interval",
        ]
        #expect(Set(sent).subtracting(allowed.components(separatedBy: ", ")).isEmpty, "\(allowed)")
        let stranger = try await browser.send(
            "OPTIONS", Browser.chatPath, headers: asked.merging(["Origin": "https://evil.example"]) { $1 })
        #expect(stranger.headers["access-control-allow-origin"] == nil)
        let rejection = try await browser.post("{}", headers: ["Origin": "https://app.example.org"])
        #expect(rejection.status == 401 && rejection.headers["access-control-allow-origin"] == "https://app.example.org")
        #expect(rejection.headers["vary"]?.contains("Origin") == true)
        let invalid = try await browser.send("GET", "/healthz", headers: ["Origin": "https://app.example.org", "host": "another"])
        #expect(invalid.status == 400 && invalid.headers["access-control-allow-origin"] == "https://app.example.org", "two hosts")
        let exposed = rejection.headers["access-control-expose-headers"]?.components(separatedBy: ", ") ?? []
        for name in ["x-should-retry", "link", "x-figures-as-of", "x-figures-trace"] { #expect(exposed.contains(name), "\(name)") }
    }
}
