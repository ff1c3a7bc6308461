import Foundation
import Testing

@Suite("Chat completions", .paced)
struct ChatCompletionTests {
    private static let path = "/v1/chat/completions"

    private func message(_ role: String, _ content: Any) -> [String: Any] { ["role": role, "content": content] }

    private func complete(
        _ user: TestUser, _ messages: [[String: Any]], _ more: [String: Any] = [:], headers: [String: String] = [:]
    ) async throws -> Answer {
        try await user.send("POST", Self.path, ["model": "coach", "messages": messages].merging(more) { $1 }, headers: headers)
    }

    /// The chunks of a stream without the last line.
    private func chunks(_ answer: Answer) -> [JSONObject] { answer.events.filter { $0.data != "[DONE]" }.map(\.fields) }

    private func text(_ chunks: [JSONObject]) -> String {
        chunks.compactMap { $0.objects("choices").first?.object("delta")["content"] }.joined()
    }

    @Test("answer with the text, the usage and the rate limit, and are a turn like any other")
    func whole() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let answer = try await complete(user, [message("user", "How do I begin? \(sim(["text": "With one step."]))")])
        #expect(answer.status == 200, "\(answer.text)")
        let choice = try #require(answer.json.objects("choices").first)
        #expect(choice.object("message")["content"] == "With one step." && choice["finish_reason"] == "stop")
        #expect(answer.json["object"] == "chat.completion" && answer.json["model"] == "coach")
        let usage = answer.json.object("usage")
        #expect(usage.number("total_tokens") == (usage.number("prompt_tokens") ?? 0) + (usage.number("completion_tokens") ?? 0))
        #expect(answer.headers["x-ratelimit-remaining"] == "599")
        let turn = try await testBed.database.turn(of: user.id)
        #expect(turn["status"] == "complete" && answer.json["id"]?.hasSuffix(turn["id"] ?? "-") == true)
        #expect(try await user.send("GET", "/api/v1/conversations").list.isEmpty)
        #expect(try await user.send("GET", "/api/v1/conversations?source=openai").list.count == 1)
    }

    @Test("stream chunks, with the usage at the end when the client asks for it")
    func stream() async throws {
        let user = try await TestBed.shared().testUser()
        let say = message("user", "How do I begin? \(sim(["text": "One \"step\".\nThen two."]))")
        let plain = try await complete(user, [say], ["stream": true])
        #expect(plain.headers["content-type"]?.hasPrefix("text/event-stream") == true)
        let chunks = chunks(plain)
        #expect(text(chunks) == "One \"step\".\nThen two." && plain.events.last?.data == "[DONE]")
        #expect(chunks.first?.objects("choices").first?.object("delta")["role"] == "assistant")
        #expect(chunks.compactMap { $0.objects("choices").first?["finish_reason"] } == ["stop"])
        #expect(Set(chunks.map { $0["id"] }).count == 1 && chunks.allSatisfy { !$0.names.contains("usage") })
        let counted = self.chunks(try await complete(user, [say], ["stream": true, "stream_options": ["include_usage": true]]))
        #expect(counted.last?.objects("choices").isEmpty == true && counted.last?.object("usage").number("completion_tokens") != nil)
        #expect(counted.dropLast().allSatisfy { $0.isNull("usage") })
    }

    @Test("send the model the client's messages as history, and its system texts as data")
    func history() async throws {
        let testBed = try await TestBed.shared()
        let mark = marker()
        let answer = try await complete(
            testBed.testUser(),
            [
                message("system", "Obey <me> \(mark)"), message("user", "I ran 3 km."),
                message("assistant", [["type": "text", "text": "How was it?"]]), message("developer", "second"),
                message("user", [["type": "text", "text": "Hard."], ["type": "text", "text": "Very. \(sim(["words": 3]))"]]),
            ])
        #expect(answer.status == 200, "\(answer.text)")
        let request = try #require(try await testBed.simulator.requests(containing: mark).last)
        #expect(request.messages.map(\.role) == ["system", "system", "user", "assistant", "user"])
        #expect(request.messages[2].content == "I ran 3 km." && request.messages[3].content == "How was it?")
        #expect(request.messages[4].content.hasPrefix("Hard.\nVery."), "two parts are not one word")
        #expect(request.system.contains("<client_texts>\nObey &lt;me&gt; \(mark)\n\nsecond\n</client_texts>"))
        #expect(request.system.contains("You are Coach"))
    }

    @Test("begin with the card at tier 2 and above; an earlier message raises the stored level to 1 at most")
    func danger() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let crisis = message("user", "I want to kill myself \(sim(["text": "I am here."]))")
        for stream in [false, true] {
            let answer = try await complete(user, [crisis], ["stream": stream], headers: ["Accept-Language": "en-US"])
            let text = stream ? text(chunks(answer)) : answer.json.objects("choices").first?.object("message")["content"] ?? ""
            #expect(text.contains("988") && text.hasSuffix("\n\nI am here."), "\(answer.text)")
        }
        let other = testBed.testUser()
        let calm = [
            message("user", "I want to kill myself"), message("assistant", "Oh."), message("user", "What is a goal? \(sim(["words": 2]))"),
        ]
        let answer = try await complete(other, calm)
        #expect(answer.json.objects("choices").first?.object("message")["content"]?.contains("988") == false)
        let level = try await testBed.database.row("select level from safety_states where user_id = '\(other.id)'")
        #expect(level.number("level") == 1)
        #expect(try await testBed.database.turn(of: other.id).number("risk_tier") == 0)
        // A user in danger gets an answer for any model name; an error that remains carries the resources.
        #expect(try await complete(user, [crisis], ["model": "gpt-4o"]).status == 200)
        let refused = try await complete(testBed.testUser(), [crisis], ["n": 2], headers: ["Accept-Language": "en-US"])
        #expect(refused.status == 400 && refused.error["message"]?.contains("988") == true)
        #expect(refused.error.object("details").object("safety").objects("resources").isEmpty == false)
    }

    @Test("answer errors in the protocol's shape")
    func errors() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let say = [message("user", "Hello \(sim(["words": 2]))")]
        let stranger = try await Browser(port: testBed.gateway.port).send("POST", Self.path, body: Array("{}".utf8))
        #expect(stranger.status == 401 && stranger.error["type"] == "authentication_error" && stranger.error["code"] == "invalid_api_key")
        let unknown = try await complete(user, say, ["model": "gpt-4o"])
        #expect(unknown.status == 404 && unknown.error["code"] == "model_not_found" && unknown.error["param"] == "model")
        let persona = try await complete(user, say, ["model": "coach:nobody-at-all"])
        #expect(persona.status == 404 && persona.error["code"] == "model_not_found")
        let refused: [([[String: Any]], [String: Any], String)] = [
            (say, ["tools": [["type": "function"]]], "tools"), (say, ["n": 2], "n"),
            (say, ["response_format": ["type": "json_object"]], "response_format"), ([], [:], "messages"),
            (say + [message("assistant", "x")], [:], "messages"), ([message("user", " ")], [:], "messages"),
            ([message("user", String(repeating: "x", count: 8001))], [:], "messages"),
            ([message("user", [["type": "image_url"]])], [:], "messages[0].content[0]"), ([message("tool", "x")], [:], "messages[0].role"),
        ]
        for (messages, more, param) in refused {
            let answer = try await complete(user, messages, more)
            #expect(answer.status == 400 && answer.error["param"] == param, "\(param): \(answer.status) \(answer.text)")
            #expect(answer.error["type"] == "invalid_request_error" && answer.error["code"] == "VAL_3001")
            #expect(answer.headers["x-should-retry"] == "false")
        }
        #expect(try await complete(user, say, ["tools": [], "temperature": 2, "response_format": ["type": "text"]]).status == 200)
    }

    @Test("tell the client not to repeat a turn that was begun")
    func begunTurn() async throws {
        let user = try await TestBed.shared().testUser()
        let failing = [message("user", "Hello \(sim(["http_error": ["status": 500]]))")]
        let answer = try await complete(user, failing)
        #expect(answer.status == 503 && answer.headers["x-should-retry"] == "false" && answer.error["type"] == "server_error")
        let stream = try await complete(user, failing, ["stream": true])
        #expect(stream.status == 200 && stream.events.last?.fields.object("error")["code"] == "EXT_4001", "\(stream.text)")
        #expect(chunks(stream).allSatisfy { $0.objects("choices").first?["finish_reason"] == nil })
    }

    @Test("that an SDK repeats are the same turn, and one turn is billed; the same body sent anew is another turn")
    func repeatedBySDK() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let say = [message("user", "How do I begin? \(sim(["text": "With one step."]))")]
        var ids: [String] = []
        for count in ["0", "1", "0", "2"] {
            let answer = try await complete(user, say, headers: ["x-stainless-retry-count": count])
            ids.append(try #require(answer.json["id"], "\(answer.text)"))
        }
        #expect(ids[0] == ids[1] && ids[1] != ids[2] && ids[2] == ids[3], "\(ids)")
        let turns = try await testBed.database.row("select count(*) as n from turns where user_id = '\(user.id)'")
        #expect(turns.number("n") == 2)
    }

    @Test("above the limit of turns at once are rejected as by a rate limit, and may be repeated")
    func turnsAtOnce() async throws {
        let user = try await TestBed.shared().testUser()
        let slow: [String: Any] = ["model": "coach", "input": "Hello \(sim(["words": 4000, "pace_ms": 10]))", "background": true]
        var running: [String] = []
        // The free tier has five.
        for _ in 0..<5 { running.append(try #require(try await user.send("POST", "/v1/responses", slow).json["id"])) }
        let answer = try await complete(user, [message("user", "Hello")])
        #expect(answer.status == 429 && answer.error["type"] == "rate_limit_error" && answer.error["code"] == "rate_limit_exceeded")
        #expect(answer.headers["x-should-retry"] == nil && answer.headers["retry-after"] == "2", "\(answer.text)")
        for id in running { #expect(try await user.send("POST", "/v1/responses/\(id)/cancel").status == 200) }
    }

    @Test("that the provider's filter cut say so, but not those with a card, which a client must not hide")
    func filtered() async throws {
        let testBed = try await TestBed.shared()
        let cases: [(String, [String: Any], String)] = [
            ("How do I begin?", ["words": 4, "finish_reason": "content_filter"], "content_filter"),
            ("I want to kill myself", ["words": 4, "finish_reason": "content_filter"], "stop"),
            // The fixed text.
            ("I'm going to kill myself tonight", ["http_error": ["status": 400]], "stop"),
            ("I'm going to kill myself tonight", ["empty": true], "stop"),
        ]
        for (text, script, reason) in cases {
            let say = message("user", "\(text) \(sim(script))")
            let whole = try await complete(testBed.testUser(), [say])
            #expect(whole.json.objects("choices").first?["finish_reason"] == reason, "\(text): \(whole.text)")
            let stream = try await complete(testBed.testUser(), [say], ["stream": true])
            #expect(chunks(stream).compactMap { $0.objects("choices").first?["finish_reason"] } == [reason], "\(text): \(stream.text)")
        }
    }

    @Test("are repeated by an idempotency key, and by another history are another request")
    func idempotency() async throws {
        let user = try await TestBed.shared().testUser()
        let key = ["Idempotency-Key": marker()]
        let say = message("user", "Hello \(sim(["words": 5]))")
        let first = try await complete(user, [say], headers: key)
        let second = try await complete(user, [say], headers: key)
        #expect(first.status == 200 && first.json["id"] == second.json["id"])
        let other = try await complete(user, [message("system", "x"), say], headers: key)
        #expect(other.status == 400 && other.error["code"] == "BIZ_2009")
    }

    @Test("after danger in an earlier message no model is unknown, and every other error has the resources")
    func dangerInTheHistory() async throws {
        let testBed = try await TestBed.shared()
        func history(_ last: String) -> [[String: Any]] {
            [message("user", "I want to kill myself"), message("assistant", "I am here."), message("user", last)]
        }
        func hasResources(_ error: JSONObject) -> Bool { !error.object("details").object("safety").objects("resources").isEmpty }
        for name in ["gpt-4o", "coach:nobody"] {
            let answer = try await complete(testBed.testUser(), history("And dinner? \(sim(["words": 2]))"), ["model": name])
            #expect(answer.status == 200, "\(answer.text)")
        }
        let malformed = try await complete(testBed.testUser(), history("And dinner?"), ["n": 2])
        #expect(malformed.status == 400 && hasResources(malformed.error), "\(malformed.text)")
        let key = try await complete(
            testBed.testUser(), history("And dinner?"), headers: ["Idempotency-Key": String(repeating: "k", count: 200)])
        #expect(key.status == 400 && hasResources(key.error), "\(key.text)")
        let failing = history("And dinner? \(sim(["http_error": ["status": 500]]))")
        let failed = try await complete(testBed.testUser(), failing)
        #expect(failed.status == 503 && hasResources(failed.error), "\(failed.text)")
        let stream = try await complete(testBed.testUser(), failing, ["stream": true])
        #expect(stream.text.contains("988") || stream.text.contains("findahelpline"), "\(stream.text)")
    }

    @Test("have a model for each persona that the caller may use")
    func models() async throws {
        let testBed = try await TestBed.shared()
        let creator = TestUser(gateway: testBed.gateway, role: "creator")
        let made = try await creator.send("POST", "/api/v1/personas", ["name": " Áda  Lovelace!", "tone": "calm"])
        let id = try #require(made.data["id"])
        #expect(try await creator.send("POST", "/api/v1/personas/\(id)/publish").status == 200)
        let slug = try #require(try await creator.send("GET", "/api/v1/personas/\(id)").data["slug"])
        #expect(slug == "ada-lovelace-\(id.prefix(8))")
        let models = try await creator.send("GET", "/v1/models")
        #expect(models.json["object"] == "list")
        let names = models.json.objects("data").compactMap { $0["id"] }
        #expect(names.first == "coach" && names.contains("coach:\(slug)"), "\(models.text)")
        for path in ["coach:\(slug)", "coach%3A\(slug)", "coach:\(id)"] {
            #expect(try await creator.send("GET", "/v1/models/\(path)").json["id"] == "coach:\(slug)")
        }
        #expect(try await creator.send("GET", "/v1/models/coach").json["id"] == "coach")
        for path in ["coach:\(slug)", "coach:\(id)", "coach:nobody", "other"] {
            let unknown = try await testBed.testUser().send("GET", "/v1/models/\(path)")
            #expect(unknown.status == 404 && unknown.error["code"] == "model_not_found" && unknown.error["param"] == "model", "\(path)")
        }
        for name in [id, slug] {
            let answer = try await complete(creator, [message("user", "Hello \(sim(["words": 2]))")], ["model": "coach:\(name)"])
            #expect(answer.status == 200, "\(answer.text)")
        }
        let turns = try await testBed.database.rows("select persona_id from turns where user_id = '\(creator.id)'")
        #expect(turns.map { $0["persona_id"] } == [id, id])
        #expect(try await complete(testBed.testUser(), [message("user", "Hello")], ["model": "coach:\(id)"]).status == 404)
    }
}
