import Foundation
import TestSupport
import Testing

@Suite("Responses", .paced)
struct ResponseTests: ResponseBench {
    private func deltas(_ events: [Event]) -> String {
        events.filter { $0.type == "response.output_text.delta" }.compactMap { $0["delta"] }.joined()
    }

    private func numbers(_ events: [Event]) -> [Int] { events.compactMap { $0.fields.number("sequence_number") } }

    @Test("are created, retrieved and continued, and a deleted one is gone")
    func life() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let mark = marker()
        let first = try await create(
            user, "I want to run. \(mark) \(sim(["text": "Good."]))", ["instructions": "be \(mark) brief", "store": true])
        #expect(first.status == 200 && first.json["status"] == "completed" && outputText(first.json) == "Good.", "\(first.text)")
        let id = try #require(first.json["id"])
        #expect(try #require(try await testBed.simulator.requests(containing: mark).last).system.contains("be \(mark) brief"))
        let read = try await user.send("GET", "\(Self.path)/\(id)")
        #expect(read.json.flag("store") == true)
        #expect(read.json["id"] == id && outputText(read.json) == "Good." && read.json.number("created_at") ?? 0 > 1_700_000_000)
        let second = try await create(
            user, [["role": "user", "content": "How far? \(sim(["words": 2]))"]], ["previous_response_id": id])
        #expect(second.json["previous_response_id"] == id, "\(second.text)")
        let request = try #require(try await testBed.simulator.requests(containing: mark).last)
        #expect(request.messages.map(\.role) == ["system", "user", "assistant", "user"] && request.messages[2].content == "Good.")
        let branch = try await create(user, "Or swim? \(sim(["words": 2]))", ["previous_response_id": id])
        #expect(branch.status == 400 && branch.error["code"] == "previous_response_not_latest", "\(branch.text)")
        let rowing = ["model": "coach", "input": "Or row?", "previous_response_id": id]
        let numbered = try await user.send("POST", Self.path, rowing, headers: ["x-stainless-retry-count": "0"])
        #expect(numbered.error["code"] == "previous_response_not_latest", "a new request of an SDK has no key of the client's")
        let keyed = try await user.send("POST", Self.path, rowing, headers: ["idempotency-key": mark])
        #expect(keyed.error["code"] == "previous_response_not_latest", "nor does a new key make it a repetition")
        let next = ["model": "coach", "input": "Where? \(sim(["words": 2]))", "previous_response_id": try #require(second.json["id"])]
        let continued = try await user.send("POST", Self.path, next, headers: ["idempotency-key": "\(mark)-2"])
        let repeated = try await user.send("POST", Self.path, next, headers: ["idempotency-key": "\(mark)-2"])
        #expect(continued.status == 200 && repeated.json["id"] == continued.json["id"], "\(repeated.text)")
        let items = try await user.send("GET", "\(Self.path)/\(id)/input_items")
        let item = try #require(items.json.objects("data").first)
        #expect(items.json["object"] == "list" && items.json.flag("has_more") == false && item["role"] == "user")
        #expect(item.objects("content").first?["text"]?.contains(mark) == true && items.json["first_id"] == item["id"])
        #expect(try await testBed.testUser().send("GET", "\(Self.path)/\(id)/input_items").status == 404)
        #expect(try await testBed.testUser().send("GET", "\(Self.path)/\(id)").status == 404)
        #expect(try await testBed.testUser().send("DELETE", "\(Self.path)/\(id)").status == 404)
        #expect(try await user.send("DELETE", "\(Self.path)/\(id)").json.flag("deleted") == true)
        #expect(try await user.send("GET", "\(Self.path)/\(id)").status == 404)
        #expect(try await user.send("DELETE", "\(Self.path)/\(id)").status == 404)
        let rows = try await testBed.database.row(
            "select count(*) as n from messages where user_id = '\(user.id)' and content like '%\(mark)%'")
        #expect(rows.number("n") == 0)
        for left in [try #require(second.json["id"]), try #require(continued.json["id"])] {
            #expect(try await user.send("GET", "\(Self.path)/\(left)").status == 200)
            #expect(try await user.send("DELETE", "\(Self.path)/\(left)").status == 200)
        }
        #expect(try await user.send("GET", "/api/v1/conversations?source=openai").list.isEmpty)
        #expect(try await user.send("GET", "/api/v1/conversations?source=preview").errorCode == "VAL_3001")
        let unknown = try await create(user, "Hello", ["previous_response_id": id])
        #expect(unknown.status == 400 && unknown.error["code"] == "previous_response_not_found")
        let crisis = try await create(user, "I want to kill myself tonight", ["previous_response_id": id])
        #expect(crisis.status == 400 && crisis.error.object("details").object("safety").number("tier") == 3, "\(crisis.text)")
        let app = try await user.chat("Hello \(sim(["words": 2]))")
        let turn = try #require(app.first("start")?["turn_id"])
        #expect(try await user.send("DELETE", "\(Self.path)/resp_\(turn)").status == 404, "a turn of an app is not theirs to delete")
        #expect(try await user.send("GET", "\(Self.path)/resp_\(turn)/input_items").status == 200)
        let conversation = try #require(app.first("start")?["conversation_id"])
        #expect(try await user.send("DELETE", "/api/v1/conversations/\(conversation)").status == 200)
        #expect(try await user.send("GET", "\(Self.path)/resp_\(turn)/input_items").status == 404)
    }

    @Test("that continue another are one turn when an SDK repeats its request, on another instance, too, and a new one after its deletion")
    func repeatedElsewhere() async throws {
        let pair = try await Pair.shared()
        let user = TestUser(gateway: pair.one)
        let elsewhere = TestUser(gateway: pair.other, id: user.id)
        let first = try await create(user, "How do I begin? \(sim(["words": 2]))")
        let body = ["model": "coach", "input": "And then? \(sim(["words": 2]))", "previous_response_id": try #require(first.json["id"])]
        func send(_ user: TestUser, _ repetition: Int) async throws -> Answer {
            try await user.send("POST", Self.path, body, headers: ["x-stainless-retry-count": "\(repetition)"])
        }
        let second = try await send(user, 0)
        let id = try #require(second.json["id"], "\(second.text)")
        #expect(try await send(elsewhere, 1).json["id"] == id)
        #expect(try await send(user, 2).json["id"] == id)
        #expect(try await send(elsewhere, 0).error["code"] == "previous_response_not_latest", "a new request begins no branch")
        #expect(try await user.send("DELETE", "\(Self.path)/\(id)").status == 200)
        let anew = try await send(elsewhere, 0)
        let other = try #require(anew.json["id"], "\(anew.text)")
        #expect(other != id)
        #expect(try await send(user, 1).json["id"] == other)
    }

    @Test("stream the protocol's events in order, and any event's number resumes the stream, on another instance, too")
    func resume() async throws {
        let pair = try await Pair.shared()
        let user = TestUser(gateway: pair.one)
        let text = "One step, then — another 🌱 and a third."
        let answer = try await create(user, "I want to kill myself \(sim(["text": text]))", ["stream": true])
        let types = answer.events.map(\.type).reduce(into: [String]()) { if $0.last != $1 { $0.append($1) } }
        #expect(
            types == [
                "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
                "response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done",
                "response.completed",
            ])
        let numbers = numbers(answer.events)
        #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count && numbers.first == 0)
        let whole = deltas(answer.events)
        #expect(whole.hasSuffix(text) && answer.events[4].fields.number("sequence_number") == 4, "the card is the first content")
        let completed = try #require(answer.events.last).fields.object("response")
        #expect(outputText(completed) == whole)
        let id = try #require(completed["id"])
        let elsewhere = TestUser(gateway: pair.other, id: user.id)
        for (index, event) in answer.events.enumerated() {
            let number = try #require(event.fields.number("sequence_number"))
            let rest = try await elsewhere.send("GET", "\(Self.path)/\(id)?stream=true&starting_after=\(number)")
            #expect(deltas(Array(answer.events[...index])) + deltas(rest.events) == whole)
            #expect(self.numbers(rest.events).allSatisfy { $0 > number })
            #expect(rest.events.last?.type == (index == answer.events.count - 1 ? nil : "response.completed"))
        }
        let replay = try await elsewhere.send("GET", "\(Self.path)/\(id)?stream=true")
        #expect(replay.events.first?.type == "response.created" && deltas(replay.events) == whole)
        for beyond in [-1, (numbers.last ?? 0) + 1] {
            #expect(try await user.send("GET", "\(Self.path)/\(id)?stream=true&starting_after=\(beyond)").status == 400)
        }
    }

    @Test("that were interrupted are resumed after each of their events; a number that no event can have is invalid")
    func interrupted() async throws {
        let user = try await TestBed.shared().testUser()
        let answer = try await create(user, "Hello \(sim(["words": 9, "cut_after_tokens": 4]))", ["stream": true])
        let (whole, last) = (deltas(answer.events), try #require(answer.events.last))
        #expect(!whole.isEmpty && last.type != "response.completed", "\(answer.text)")
        let id = try #require(last.fields.object("response")["id"])
        for (index, event) in answer.events.enumerated() {
            let number = try #require(event.fields.number("sequence_number"))
            let rest = try await user.send("GET", "\(Self.path)/\(id)?stream=true&starting_after=\(number)")
            #expect(deltas(Array(answer.events[...index])) + deltas(rest.events) == whole, "after \(event.type)")
            #expect(rest.events.last?.type == (index == answer.events.count - 1 ? nil : last.type), "after \(event.type)")
        }
        for number in [Int.max, Int(Int32.max) + 1] {
            #expect(try await user.send("GET", "\(Self.path)/\(id)?stream=true&starting_after=\(number)").status == 400)
        }
        let lost = try await user.send("GET", "\(Self.path)/\(id)?stream=true&starting_after=\(Int32.max)")
        #expect(lost.events.map(\.type) == ["error"], "\(lost.text)")
    }

    @Test("that the provider's filter cut are incomplete, on any instance, but not those with a card")
    func filtered() async throws {
        let pair = try await Pair.shared()
        let user = TestUser(gateway: pair.one)
        let elsewhere = TestUser(gateway: pair.other, id: user.id)
        let cut = sim(["words": 4, "finish_reason": "content_filter"])
        for (text, status) in [("How do I begin?", "incomplete"), ("I want to kill myself", "completed")] {
            let created = try await create(user, "\(text) \(cut)").json
            let id = try #require(created["id"])
            var responses = [created]
            for reader in [user, elsewhere] { responses.append(try await reader.send("GET", "\(Self.path)/\(id)").json) }
            for response in responses {
                #expect(response["status"] == status && !outputText(response).isEmpty)
                let details = response.object("incomplete_details")
                #expect(details["reason"] == (status == "incomplete" ? "content_filter" : nil))
            }
            let stream = try await elsewhere.send("GET", "\(Self.path)/\(id)?stream=true")
            #expect(stream.events.last?.type == "response.\(status)")
        }
    }

    @Test("repeat metadata and instructions of their request, and do not keep them")
    func echo() async throws {
        let user = try await TestBed.shared().testUser()
        let more: [String: Any] = ["metadata": ["topic": "\"running\""], "instructions": "be brief"]
        let whole = try await create(user, "Hello \(sim(["words": 2]))", more)
        #expect(whole.json.object("metadata")["topic"] == "\"running\"" && whole.json["instructions"] == "be brief", "\(whole.text)")
        let stream = try await create(user, "Hello \(sim(["words": 2]))", more.merging(["stream": true]) { $1 })
        for event in [stream.events.first, stream.events.last] {
            let response = try #require(event).fields.object("response")
            #expect(response.object("metadata")["topic"] == "\"running\"" && response["instructions"] == "be brief")
        }
        let read = try await user.send("GET", "\(Self.path)/\(try #require(whole.json["id"]))")
        #expect(read.json.object("metadata").names.isEmpty && read.json.isNull("instructions") && read.json.isNull("previous_response_id"))
        let long = String(repeating: "x", count: 9000)
        #expect(try await create(user, "Hello \(sim(["words": 2]))", ["instructions": long]).json.isNull("instructions"))
        let invalid: [Any] = ["x", ["a": 1], ["a": String(repeating: "x", count: 513)]]
        for metadata in invalid {
            let answer = try await create(user, "Hello", ["metadata": metadata])
            #expect(answer.status == 400 && answer.error["param"] == "metadata", "\(answer.text)")
        }
    }

    @Test("name the persona that answers by its slug: the conversation's, whatever model the request names")
    func model() async throws {
        let pair = try await Pair.shared()
        let creator = TestUser(gateway: pair.one, role: "creator")
        let persona = try #require(try await creator.send("POST", "/api/v1/personas", ["name": "Maya", "tone": "calm"]).data["id"])
        #expect(try await creator.send("POST", "/api/v1/personas/\(persona)/publish", ["visibility": "listed"]).status == 200)
        let name = "coach:maya-\(persona.prefix(8))"
        let user = TestUser(gateway: pair.one)
        let first = try await create(user, "Hello \(sim(["words": 2]))", ["model": "coach:\(persona)"])
        #expect(first.json["model"] == name, "\(first.text)")
        let id = try #require(first.json["id"])
        for gateway in [pair.one, pair.other] {
            #expect(try await TestUser(gateway: gateway, id: user.id).send("GET", "\(Self.path)/\(id)").json["model"] == name)
        }
        let plain = try await create(user, "And now? \(sim(["words": 2]))", ["previous_response_id": id])
        #expect(plain.json["model"] == name, "\(plain.text)")
        let more: [String: Any] = ["previous_response_id": try #require(plain.json["id"]), "stream": true]
        let stream = try await create(user, "And then? \(sim(["words": 2]))", more)
        #expect(stream.events.first?.fields.object("response")["model"] == name, "\(stream.text)")
        let crisis = try await create(user, "I want to kill myself \(sim(["words": 2]))", ["model": "gpt-4o"])
        #expect(crisis.json["model"] == "coach", "\(crisis.text)")
    }

    @Test("of a crashed gateway: a client that has more text than was kept is told so on another, one with less gets the rest")
    func crashed() async throws {
        let pair = try await Pair.fresh()
        let user = TestUser(gateway: pair.one)
        let id = try #require(
            try await create(user, "Tell me all. \(sim(["words": 4000, "pace_ms": 10]))", ["background": true]).json["id"])
        let elsewhere = TestUser(gateway: pair.other, id: user.id)
        try await eventually("saved text") { try await !outputText(elsewhere.send("GET", "\(Self.path)/\(id)").json).isEmpty }
        try await pair.one.program.kill9()
        try await eventually(within: .seconds(15), "the end") {
            try await elsewhere.send("GET", "\(Self.path)/\(id)").json["status"] == "failed"
        }
        func events(after number: Int) async throws -> [Event] {
            try await elsewhere.send("GET", "\(Self.path)/\(id)?stream=true&starting_after=\(number)").events
        }
        let kept = try await outputText(elsewhere.send("GET", "\(Self.path)/\(id)").json).utf8.count
        for ahead in 1...6 { #expect(try await events(after: 3 + kept + ahead).map(\.type) == ["error"], "\(ahead) bytes ahead") }
        let closing = try await events(after: 3 + kept)
        #expect(closing.count == 4 && closing.last?.type == "response.failed")
        for (index, number) in numbers(closing).enumerated() {
            #expect(try await events(after: number).map(\.type) == closing.dropFirst(index + 1).map(\.type))
        }
        #expect(try await deltas(events(after: 3)).utf8.count == kept)
    }

    @Test("are all that can be deleted: a running turn of the app goes on")
    func runningTurn() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        async let answer = user.chat("Tell me all. \(sim(["words": 30, "pace_ms": 50]))")
        var turn: String?
        try await eventually("a running turn") {
            turn = try await testBed.database.rows("select id from turns where user_id = '\(user.id)' and status = 'running'").first?["id"]
            return turn != nil
        }
        #expect(try await user.send("DELETE", "\(Self.path)/resp_\(try #require(turn))").status == 404)
        #expect(try await answer.first("done")?.fields["finish_reason"] == "stop")
    }

    @Test("that fail are failed, and their creation is not repeated")
    func failure() async throws {
        let user = try await TestBed.shared().testUser()
        let failing = "Hello \(sim(["http_error": ["status": 500]]))"
        let refused = try await create(user, failing)
        #expect(refused.status == 503 && refused.headers["x-should-retry"] == "false", "\(refused.text)")
        let stream = try await create(user, failing, ["stream": true])
        let response = try #require(stream.events.last).fields.object("response")
        #expect(stream.events.last?.type == "response.failed" && response["status"] == "failed", "\(stream.text)")
        #expect(response.object("error")["code"] == "server_error")
        let unsupported: [[String: Any]] = [
            ["conversation": "conv_1"], ["previous_response_id": "x"], ["text": ["format": ["type": "json_schema"]]], ["store": false],
        ]
        for more in unsupported {
            let answer = try await create(user, "Hello", more)
            #expect(answer.status == 400 && answer.error["param"]?.hasPrefix(more.keys.first ?? "-") == true, "\(answer.text)")
        }
    }
}
