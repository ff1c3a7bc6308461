import Foundation
import Testing

@Suite("A coached answer", .paced)
struct CoachedAnswerTests {
    @Test("is streamed as start, tokens, usage and done, and start has all fields of the contract")
    func events() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("How do I ask my boss for a raise? \(sim(["words": 12]))")
        #expect(answer.status == 200)
        #expect(answer.eventTypes == ["start", "token", "usage", "done"])
        let start = try #require(answer.first("start")).fields
        #expect(
            start.names == [
                "type", "done", "turn_id", "conversation_id", "user_message_id", "message_id", "domain", "domain_confidence", "persona_id",
                "model", "disclosure", "request_id",
            ])
        for id in ["turn_id", "conversation_id", "user_message_id", "message_id"] {
            let text = try #require(start[id])
            #expect(UUID(uuidString: text) != nil && text == text.lowercased(), "\(id)")
        }
        #expect(start["request_id"] == answer.headers["x-request-id"])
        #expect(start["model"] == "sim-coach-1")
        #expect(start["domain"] == "career_coaching")
        #expect((0...1).contains(try #require(start.real("domain_confidence"))))
        #expect(start.isNull("persona_id"))
        #expect(start.object("disclosure")["text"]?.contains("AI coach") == true && start.object("disclosure")["version"] == "2")
    }

    @Test("has `done` in every event, true only in the last, and one data line for each event")
    func done() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hello \(sim(["words": 30, "pace_ms": 5]))")
        #expect(answer.events.allSatisfy { $0.data.contains(#""done":true"#) || $0.data.contains(#""done":false"#) })
        #expect(answer.events.map(\.isLast) == Array(repeating: false, count: answer.events.count - 1) + [true])
        for block in answer.text.components(separatedBy: "\n\n").dropLast() {
            let lines = block.components(separatedBy: "\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("id: ") && lines[1].hasPrefix("data: {"), "\(block)")
        }
    }

    @Test("counts released UTF-8 bytes in its ids")
    func ids() async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat("Hola \(sim(["tokens": ["Sí, ", "añade ", "💛", " y 日本", "語."], "pace_ms": 20]))")
        var released = 0
        for event in answer.events {
            if event.type == "token" { released += try #require(event["content"]).utf8.count }
            #expect(event.id == "\(released)", "\(event.data)")
        }
        #expect(answer.content == "Sí, añade 💛 y 日本語.")
        #expect(released == answer.content.utf8.count)
    }

    @Test("is saved in messages, after the user's message")
    func saved() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let message = "What shall I cook? \(sim(["words": 40]))"
        let answer = try await testUser.chat(message)
        let start = try #require(answer.first("start"))
        let sent = try #require(try await testBed.database.messages(of: testUser.id, role: "user").first)
        #expect(sent["id"] == start["user_message_id"] && sent["content"] == message && sent["status"] == "complete")
        let stored = try #require(try await testBed.database.messages(of: testUser.id, role: "assistant").first)
        #expect(stored["id"] == start["message_id"] && stored["content"] == answer.content && stored["status"] == "complete")
        #expect(stored["conversation_id"] == start["conversation_id"] && stored["turn_id"] == start["turn_id"])
        #expect(answer.first("done")?["message_id"] == start["message_id"])
    }

    @Test("is billed with the tokens and the cost of the usage event")
    func billed() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.chat("Hello \(sim(["words": 25, "cached_tokens": 7]))")
        let usage = try #require(answer.first("usage")).fields
        #expect(
            usage.names == [
                "type", "done", "model", "provider", "input_tokens", "cached_input_tokens", "output_tokens", "cost_usd", "estimated",
            ])
        let rows = try await testBed.database.usage(of: testUser.id)
        let row = try #require(rows.first)
        #expect(rows.count == 1)
        #expect(row["provider"] == usage["provider"] && row["model"] == usage["model"])
        #expect(row.number("tokens_in") == usage.number("input_tokens") && row.number("tokens_out") == 25)
        #expect(row.number("cached_input_tokens") == 7 && usage.number("cached_input_tokens") == 7)
        #expect(usage.number("output_tokens") == 25 && usage.flag("estimated") == false)
        // 0.15, 0.075 and 0.60 dollars a million tokens, in nanodollars, rounded once.
        let input = try #require(usage.number("input_tokens"))
        let nanodollars = (150 * (input - 7) + 75 * 7 + 600 * 25)
        let cost = try #require(Decimal(string: usage["cost_usd"] ?? ""))
        #expect(cost * 1_000_000_000 == Decimal(nanodollars))
        #expect(Decimal(string: row["cost"] ?? "") == cost)
    }

    @Test("has the headers of an event stream that proxies must not buffer")
    func headers() async throws {
        let answer = try await TestBed.shared().testUser().chat("Hello \(sim(["words": 2]))")
        #expect(answer.headers["content-type"] == "text/event-stream; charset=utf-8")
        #expect(answer.headers["cache-control"] == "no-cache, no-transform")
        #expect(answer.headers["x-accel-buffering"] == "no")
        #expect(answer.headers["x-api-version"] == "1.0")
    }

    @Test("keeps a valid X-Request-ID or X-Correlation-ID, and replaces every other", arguments: ["X-Request-ID", "X-Correlation-ID"])
    func requestID(header: String) async throws {
        let testUser = try await TestBed.shared().testUser()
        let kept = try await testUser.chat("Hello \(sim(["words": 2]))", headers: [header: "trace 42/~!"])
        #expect(kept.headers["x-request-id"] == "trace 42/~!" && kept.first("start")?["request_id"] == "trace 42/~!")
        for invalid in [String(repeating: "x", count: 129), "ümlaut", ""] {
            let replaced = try await testUser.browser.send("GET", "/healthz", headers: [header: invalid])
            let id = try #require(replaced.headers["x-request-id"])
            #expect(id != invalid && UUID(uuidString: id) != nil, "\(id)")
        }
        let longest = String(repeating: "y", count: 128)
        #expect(try await testUser.browser.send("GET", "/healthz", headers: [header: longest]).headers["x-request-id"] == longest)
    }

    @Test("counts requests in its rate-limit headers, rejected ones included")
    func rateLimitHeaders() async throws {
        let testUser = try await TestBed.shared().testUser()
        let first = try await testUser.chat("Hello \(sim(["words": 2]))")
        let second = try await testUser.chat("Hello \(sim(["words": 2]))")
        let refused = try await testUser.chat("Hello", ["conversation_id": UUID().uuidString])
        #expect(refused.status == 404)
        let remaining = [first, second, refused].map { Int($0.headers["x-ratelimit-remaining"] ?? "") }
        #expect(remaining == [599, 598, 597])
        for answer in [first, second, refused] {
            #expect(answer.headers["x-ratelimit-limit"] == "600")
            let reset = try #require(Double(answer.headers["x-ratelimit-reset"] ?? ""))
            #expect((0...61).contains(reset - Date().timeIntervalSince1970))
        }
    }

    @Test("is also returned for a body in camel case, without Content-Type and with unknown fields")
    func camelCase() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let first = try await testUser.chat("Hello \(sim(["words": 2]))", ["clientMessageId": "first", "colour": ["blue", 1] as [Any]])
        let conversation = try #require(first.first("start")?["conversation_id"])
        let second = try await testUser.chat("And? \(sim(["words": 2]))", ["conversationId": conversation.uppercased()])
        #expect(second.status == 200 && second.first("start")?["conversation_id"] == conversation)
        let key = try await testBed.database.rows("select idempotency_key from turns where user_id = '\(testUser.id)' order by created_at")
        #expect(key.map { $0["idempotency_key"] } == ["first", nil])
    }
}
