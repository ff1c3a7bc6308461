import CoachCore
import Foundation
import Testing

@Suite("A provider that rejects calls", .paced)
struct ProviderRefusalTests {
    private static let warm = "Coach is taking a moment. Let's try again."

    /// A refused key, and a model that has asked for a pause, are not asked again for a while, so these scripts have providers of their own.
    private static let coolingDown = [
        #"{"http_error":{"status":401}}"#, #"{"http_error":{"status":402}}"#, #"{"http_error":{"status":403}}"#,
        #"{"http_error":{"status":429,"retry_after":1}}"#, #"{"http_error":{"status":429,"retry_after":120}}"#,
    ]
    private static let gatewayByDomain = Task {
        let testBed = try await TestBed.shared()
        let root = try Folder.routingByDomain(["first"], through: testBed.simulator)
        return try await Gateway(database: testBed.database.gatewayURL, simulator: nil, environment: root.environment)
    }

    @Test(
        "ends the stream with an error event within 3 s, and the user's message is kept",
        arguments: coolingDown + [
            #"{"http_error":{"status":500}}"#, #"{"http_error":{"status":404}}"#, #"{"http_error":{"status":408}}"#,
            #"{"http_error":{"status":409}}"#, #"{"http_error":{"status":529}}"#, #"{"error_after_tokens":0,"bare_error":true}"#,
            #"{"comments":true,"error_after_tokens":0}"#, #"{"http_error":{"status":503,"body":"<html>bad gateway</html>"}}"#,
            #"{"http_error":{"status":400}}"#, #"{"http_error":{"status":413}}"#, #"{"http_error":{"status":422}}"#,
            #"{"drop":true}"#, #"{"error_after_tokens":0}"#, #"{"error_after_tokens":0,"error_then_done":true}"#,
            #"{"cut_after_tokens":0}"#,
            #"{"cut_after_tokens":0,"cut":"reset"}"#, #"{"cut_after_tokens":0,"cut_inside_frame":true}"#, #"{"empty":true}"#,
            #"{"empty":true,"no_finish":true}"#, #"{"empty":true,"no_finish":true,"no_done":true}"#,
            #"{"thinking":"Hm.","error_after_tokens":0}"#, #"{"drop":true,"cut":"reset"}"#,
        ])
    func refused(script: String) async throws {
        let testBed = try await TestBed.shared()
        let place = Self.coolingDown.firstIndex(of: script)
        let testUser = place == nil ? testBed.testUser() : try await Self.gatewayByDomain.value.testUser()
        let message = "Hello [[sim \(script)]]"
        let answer = try await testUser.chat(message, place.map { ["domain": Domain.allCases[$0].rawValue] } ?? [:])
        #expect(answer.status == 200 && answer.eventTypes.first == "start" && answer.eventTypes.last == "error", "\(answer.eventTypes)")
        #expect(answer.endAfter < .seconds(3))
        // The first event does not wait for the provider.
        #expect(try #require(answer.events.first).arrivedAfter < .seconds(2))
        let error = try #require(answer.first("error")).fields
        #expect(error["code"] == "EXT_4001" && error["user_message"] == Self.warm && error["action"] == "retry")
        #expect(error.flag("retryable") == true && error.flag("partial") == false && error.number("kept_bytes") == 0)
        #expect(answer.content.isEmpty)
        // The provider's own message is not sent to the client.
        #expect(!answer.text.contains("html") && !answer.text.contains("OpenAI") && !answer.text.contains("127.0.0.1"))
        let sent = try await testBed.database.messages(of: testUser.id, role: "user")
        #expect(sent.map { $0["content"] } == [message])
        #expect(try await testBed.database.turn(of: testUser.id)["status"] == "failed")
        #expect(try await testBed.database.messages(of: testUser.id, role: "assistant").isEmpty)
    }

    @Test("and names a later time gets no request before it: turns end at once with EXT_4001, one in danger with the fixed text")
    func cooldown() async throws {
        let testBed = try await TestBed.shared()
        let gateway = try await testBed.anotherGateway()
        let first = try await gateway.testUser().chat("Hello \(sim(["http_error": ["status": 429, "retry_after": 120]]))")
        #expect(first.eventTypes == ["start", "error"])
        let word = marker()
        let next = try await gateway.testUser().chat("Hello \(word)")
        #expect(next.eventTypes == ["start", "error"] && next.endAfter < .seconds(3), "\(next.text)")
        let error = try #require(next.first("error")).fields
        #expect(error["code"] == "EXT_4001" && error["action"] == "retry" && error.flag("retryable") == true)
        let danger = try await gateway.testUser().chat("I'm going to kill myself tonight \(word)", ["country": "US"])
        #expect(danger.eventTypes == ["start", "safety", "token", "usage", "done"] && danger.content.contains("988"), "\(danger.text)")
        #expect(danger.first("done")?["finish_reason"] == "safety")
        #expect(try await testBed.simulator.requests(containing: word).isEmpty)
        withExtendedLifetime(gateway) {}
    }

    @Test("because its port is closed ends the stream within 3 s")
    func deadPort() async throws {
        let testBed = try await TestBed.shared()
        let gone = try await Simulator()
        gone.program.signal(SIGKILL)
        try await gone.program.exit()
        let gateway = try await Gateway(database: testBed.database.gatewayURL, simulator: gone.url)
        let testUser = gateway.testUser()
        let answer = try await testUser.chat("Hello")
        #expect(answer.eventTypes == ["start", "error"] && answer.endAfter < .seconds(3), "\(answer.text)")
        #expect(answer.first("error")?["code"] == "EXT_4001")
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").map { $0["content"] } == ["Hello"])
        #expect(try await testBed.database.usage(of: testUser.id).isEmpty)
    }
}
