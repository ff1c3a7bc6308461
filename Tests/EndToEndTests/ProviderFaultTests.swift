import Foundation
import Testing

@Suite("A provider that fails during its answer")
struct ProviderFaultTests {
    /// The events of an answer that was interrupted, and the kept text.
    private func expectPartial(_ answer: Answer, _ text: String, of testUser: TestUser) async throws {
        let testBed = try await TestBed.shared()
        // A script that cuts can look like danger.
        #expect(answer.eventTypes.filter { $0 != "safety" } == ["start", "token", "usage", "error"] && answer.content == text)
        let error = try #require(answer.first("error")).fields
        #expect(error["code"] == "EXT_4001" && error.flag("partial") == true && error.number("kept_bytes") == text.utf8.count)
        #expect(error.flag("retryable") == true && answer.events.last?.id == "\(text.utf8.count)")
        let stored = try await testBed.database.messages(of: testUser.id, role: "assistant")
        #expect(stored.map { $0["content"] } == [text] && stored.first?["status"] == "interrupted")
        let turn = try await testBed.database.turn(of: testUser.id)
        #expect(turn["status"] == "interrupted" && turn.isNull("finish_reason"))
        #expect(try await testBed.database.usage(of: testUser.id).count == 1)
    }

    @Test(
        "leaves the partial answer kept and marked as interrupted", .paced,
        arguments: [
            #""error_after_tokens":2"#, #""error_after_tokens":2,"error_then_done":true"#, #""cut_after_tokens":2"#,
            #""cut_after_tokens":2,"cut":"reset","pace_ms":30"#, #""cut_after_tokens":2,"cut_inside_frame":true"#,
            #""error_after_tokens":2,"bare_error":true"#, #""cut_after_tokens":2,"thinking":"Hm.","bytewise":true"#,
        ])
    func partial(fault: String) async throws {
        let testUser = try await TestBed.shared().testUser()
        let script = #"{"tokens":["Añade ","💛","never said"],"first_token_ms":0,\#(fault)}"#
        let answer = try await testUser.chat("Hello [[sim \(script)]]")
        try await expectPartial(answer, "Añade 💛", of: testUser)
        #expect(answer.endAfter < .seconds(3))
    }

    @Test("by becoming silent is cancelled after 20 s, and the partial answer is kept", .patient)
    func stalled() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["tokens": ["One ", "two ", "three"], "stall_after_tokens": 2]))", timeout: 40)
        try await expectPartial(answer, "One two ", of: testUser)
        let (token, error) = (try #require(answer.first("token")).arrivedAfter, try #require(answer.first("error")).arrivedAfter)
        #expect(error - token > .seconds(19) && error - token < .seconds(23), "\(error - token)")
        // The client gets heartbeats: never more than 10 s of silence.
        let signs = [token] + answer.pings + [error]
        #expect(zip(signs, signs.dropFirst()).allSatisfy { $1 - $0 <= .seconds(10.5) }, "\(signs)")
    }

    @Test("before its first token is cancelled after 6 s, and the error comes within 18 s", .patient)
    func hanging() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.chat("Hello \(sim(["hang": true]))", timeout: 40)
        #expect(answer.eventTypes == ["start", "error"])
        let error = try #require(answer.first("error"))
        #expect(error.arrivedAfter > .seconds(5.9) && error.arrivedAfter < .seconds(18), "\(error.arrivedAfter)")
        #expect(error.fields["code"] == "EXT_4001" && error.fields.flag("partial") == false)
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").count == 1)
    }

    @Test("before its first token, like the two after it: the error comes after 15 s, and within 18 s", .patient)
    func allHanging() async throws {
        let testBed = try await TestBed.shared()
        let root = try Folder.routing(["sim-first", "sim-second", "sim-third"], through: testBed.simulator)
        let gateway = try await Gateway(database: testBed.database.gatewayURL, simulator: nil, environment: root.environment)
        let word = marker()
        let answer = try await gateway.testUser().chat("Hello \(word) \(sim(["hang": true]))", timeout: 40)
        #expect(answer.eventTypes == ["start", "error"], "\(answer.text)")
        #expect(try #require(answer.first("start")).arrivedAfter < .seconds(2))
        let error = try #require(answer.first("error"))
        #expect(error.arrivedAfter > .seconds(14.9) && error.arrivedAfter < .seconds(18), "\(error.arrivedAfter)")
        #expect(error.fields["code"] == "EXT_4001" && error.fields.flag("partial") == false)
        #expect(try await testBed.simulator.requests(containing: word).count == 3)
        withExtendedLifetime(gateway) {}
    }

    @Test("by sending only a head is also cancelled after 6 s", .patient)
    func headThenNothing() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["first_token_ms": 60_000]))", timeout: 40)
        #expect(answer.eventTypes.first == "start" && answer.eventTypes.last == "error")
        let error = try #require(answer.first("error"))
        #expect(error.arrivedAfter > .seconds(5.9) && error.arrivedAfter < .seconds(18), "\(error.arrivedAfter)")
    }
}

@Suite("A provider with unusual streams", .paced)
struct ProviderMannersTests {
    @Test("that does not send [DONE] has answered")
    func noDone() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["words": 4, "no_done": true]))")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content.split(separator: " ").count == 4)
        #expect(answer.first("done")?["finish_reason"] == "stop" && answer.endAfter < .seconds(3))
    }

    @Test("that reports no usage is billed by an estimate, marked as such")
    func noUsage() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.chat("Hello \(sim(["words": 40, "no_usage": true]))")
        let usage = try #require(answer.first("usage")).fields
        let (input, output) = (try #require(usage.number("input_tokens")), try #require(usage.number("output_tokens")))
        #expect(usage.flag("estimated") == true && (20...100).contains(output) && (300...3000).contains(input))
        let row = try #require(try await testBed.database.usage(of: testUser.id).first)
        #expect(row.flag("estimated") == true && Decimal(string: row["cost"] ?? "") == Decimal(string: usage["cost_usd"] ?? "-"))
    }

    @Test("that reports no usage any more is estimated by the ratio of what it reported before")
    func learntRatio() async throws {
        // Of its own: ratios are those of an instance.
        let gateway = try await TestBed.shared().anotherGateway()
        func usage(_ script: [String: Any]) async throws -> (input: Int, output: Int) {
            // Always the same prompt: routing may choose another domain while the encoder is read, or another test edits domains.
            let answer = try await gateway.testUser().chat(
                "Hello \(sim(["words": 100, "seed": 1].merging(script) { $1 }))", ["domain": "mindset"])
            let usage = try #require(answer.first("usage"), "\(answer.text)").fields
            #expect(usage.flag("estimated") == (script["no_usage"] != nil))
            return (try #require(usage.number("input_tokens")), try #require(usage.number("output_tokens")))
        }
        let first = try await usage(["no_usage": true])
        let reported = ["prompt_tokens": first.input * 3 / 2, "completion_tokens": first.output * 3 / 2]
        for _ in 1...20 { _ = try await usage(["usage": reported]) }
        let later = try await usage(["no_usage": true])
        // Each report moves the ratio by a tenth of the difference.
        #expect(later.output * 100 > first.output * 135 && later.output * 100 < first.output * 155, "\(first), \(later)")
        #expect(later.input * 100 > first.input * 130 && later.input * 100 < first.input * 160, "\(first), \(later)")
    }

    @Test("that sends comments before its first token has sent nothing that a client sees")
    func comments() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["text": "Here.", "comments": true]))")
        #expect(answer.content == "Here." && answer.eventTypes == ["start", "token", "usage", "done"])
        #expect(!answer.text.contains("OPENROUTER"))
    }

    @Test("that sends byte by byte is parsed")
    func bytewise() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["text": "Añade 💛 y 日本語, \u{2028}fin", "bytewise": true]))")
        #expect(answer.content == "Añade 💛 y 日本語, \u{2028}fin" && answer.eventTypes.last == "done")
    }

    @Test("that sends many tokens at once is parsed")
    func packed() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["words": 500, "tokens_per_write": 100]))")
        #expect(answer.content.split(separator: " ").count == 500 && answer.first("usage")?.fields.number("output_tokens") == 500)
    }

    @Test("that ends without text has failed")
    func empty() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.chat("Hello \(sim(["empty": true]))")
        #expect(answer.eventTypes.first == "start" && answer.eventTypes.last == "error" && answer.endAfter < .seconds(3))
        #expect(answer.first("error")?.fields.flag("partial") == false)
        #expect(try await testBed.database.turn(of: testUser.id)["status"] == "failed")
    }

    @Test("that stops at its token limit ends with finish_reason length")
    func length() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.chat("Hello \(sim(["words": 5, "finish_reason": "length"]))")
        #expect(answer.first("done")?["finish_reason"] == "length")
        let turn = try await testBed.database.turn(of: testUser.id)
        #expect(turn["status"] == "complete" && turn["finish_reason"] == "length")
    }

    @Test("that is stopped by its content filter ends with finish_reason safety")
    func filtered() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["words": 5, "finish_reason": "content_filter"]))")
        #expect(answer.first("done")?["finish_reason"] == "safety")
    }
}
