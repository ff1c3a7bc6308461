import Foundation
import TestSupport
import Testing

@Suite("A user at risk whose request is refused", .paced)
struct RefusedCrisisTests {
    private static let quick = sim(["words": 3])

    @Test("gets resources with every error, in the stream before it and in JSON as details.safety")
    func rejection() async throws {
        let testUser = try await TestBed.shared().testUser()
        let crisis = "I'm going to kill myself tonight"
        let more = ["conversation_id": UUID().uuidString, "country": "GB"]
        let envelope = try await testUser.chat(crisis, more)
        #expect(envelope.status == 404 && envelope.errorCode == "BIZ_2004")
        let details = envelope.error.object("details").object("safety")
        #expect(details["severity"] == "acute" && details.objects("resources").contains { $0["phone"] == "116 123" })
        let problem = try await testUser.chat(crisis, more, headers: ["Accept": "application/problem+json"])
        #expect(problem.text.contains("116 123"))
        let stream = try await testUser.chat(crisis, more, headers: ["Accept": "text/event-stream"])
        #expect(stream.status == 404 && stream.eventTypes == ["safety", "error"])
        #expect(stream.events.map(\.isLast) == [false, true])
        #expect(stream.first("safety")?.fields.objects("resources").contains { $0["phone"] == "116 123" } == true)
    }

    @Test("gets the resources of the profile's region with an error of any origin")
    func rejectionAtHome() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        try await testBed.database.fresh.psql("insert into users (id, country) values ('\(testUser.id)', 'GB')")
        let header = ["Accept-Language": "en-US"]
        let begun = try await testUser.chat("I want to kill myself", ["conversation_id": UUID().uuidString], headers: header)
        _ = try await testUser.chat("I want to kill myself \(Self.quick)")
        let found = try await testUser.browser.send("GET", "\(Browser.chatPath)/\(UUID())", headers: header)
        let malformed = try await testUser.chat("I want to kill myself", ["persona_id": 7], headers: header)
        let unsupported = try await testUser.browser.send(
            "POST", "/v1/chat/completions",
            body: Array(#"{"model":"coach","n":2,"messages":[{"role":"user","content":"I want to kill myself"}]}"#.utf8), headers: header)
        for (answer, status) in [(begun, 404), (found, 404), (malformed, 422), (unsupported, 400)] {
            #expect(answer.status == status && answer.text.contains("116 123") && !answer.text.contains(#""988""#), "\(answer.text)")
        }
    }

    /// Of the second message the encoder alone finds the danger.
    @Test(
        "gets resources also when the body is invalid", arguments: ["persona_id", "conversation_id", "locale"],
        ["I want to kill myself", "my son locked himself in the bathroom with all of grandma's tablets"])
    func badBody(field: String, message: String) async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.chat(message, [field: 7])
        #expect(answer.status == 422 && answer.error.object("details")["field"] == field)
        #expect(answer.error.object("details").object("safety").objects("resources").isEmpty == false)
    }

    @Test("gets resources wherever danger stands in a message that is too long", arguments: [0, 9_000, 20_000])
    func tooLong(position: Int) async throws {
        let testUser = try await TestBed.shared().testUser()
        let calm = "We talked about the plan for the week at work. "
        func text(_ count: Int) -> String { String(repeating: calm, count: count / calm.count) }
        let answer = try await testUser.chat(text(position) + "I want to kill myself. " + text(20_000 - position))
        #expect(answer.status == 422 && answer.text.contains(#""resources""#), "\(answer.text)")
        let harmless = try await testUser.chat(text(20_000))
        #expect(harmless.status == 422 && !harmless.text.contains(#""resources""#), "\(harmless.text)")
    }

    @Test("gets those of the body's country also for what was said before, when the body is invalid")
    func badBodyLater() async throws {
        let testUser = try await TestBed.shared().testUser()
        _ = try await testUser.chat("I want to kill myself \(Self.quick)")
        let answer = try await testUser.chat("hello there", ["country": "GB", "conversation_id": "nope"])
        #expect(answer.status == 422 && answer.text.contains("116 123"), "\(answer.text)")
        let message = answer.error.object("details").object("safety")["message"]
        #expect(message?.hasPrefix("You told me about something hard before") == true, "nothing was told now: \(answer.text)")
    }

    @Test("gets them also when a byte order mark precedes an invalid body")
    func byteOrderMark() async throws {
        let testUser = try await TestBed.shared().testUser()
        let body = [0xEF, 0xBB, 0xBF] + Array(#"{"message":"I want to kill myself","persona_id":7}"#.utf8)
        let answer = try await testUser.browser.send("POST", Browser.chatPath, body: body)
        #expect(answer.status == 422 && answer.text.contains(#""resources""#), "\(answer.text)")
    }

    @Test(
        "gets them also when no message can be read in the body",
        arguments: [
            (Browser.chatPath, #"{"message":"I want to kill myself","#), (Browser.chatPath, "I want to kill myself"),
            (Browser.chatPath, #"[{"message":"I want to kill myself"}]"#), (Browser.chatPath, #"{"msg":"I want to kill myself"}"#),
            ("/v1/chat/completions", #"{"model":"coach","messages":[{"role":"user","content":"I want to kill myself"}]"#),
        ])
    func unreadable(path: String, body: String) async throws {
        let testUser = try await TestBed.shared().testUser()
        let answer = try await testUser.browser.send("POST", path, body: Array(body.utf8))
        #expect([400, 422].contains(answer.status) && answer.text.contains("findahelpline.com"), "\(answer.text)")
        let calm = try await testUser.browser.send("POST", path, body: Array(body.replacing("kill myself", with: "run a marathon").utf8))
        #expect(calm.status == answer.status)
    }
}
