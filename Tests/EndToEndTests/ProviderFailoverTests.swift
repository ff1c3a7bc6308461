import Foundation
import TestSupport
import Testing

/// Two providers of which the first fails, seen from the client. Each fault has a gateway of its own, because it changes what the next call does.
@Suite("A provider behind one that fails")
struct ProviderFailoverTests {
    /// The answer to a message whose first provider has this fault (members of a script).
    private func answer(_ fault: String) async throws -> Answer {
        let testBed = try await TestBed.shared()
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/models.json") { file in
            file["providers"] = Dictionary(
                uniqueKeysWithValues: ["first", "second"].map { name in
                    (name, ["dialect": "openai", "base_url": testBed.simulator.url, "api_key_env": "KEY"])
                })
            file["routes"] = [
                "default": ["first", "second"].map { ["provider": $0, "model": "sim-\($0)", "max_output_tokens": 1024] as [String: Any] }
            ]
        }
        let gateway = try await Gateway(database: testBed.database.gatewayURL, simulator: nil, environment: root.environment)
        let word = marker()
        let scripts = "[[sim {\"model\":\"sim-first\",\(fault)}]] \(sim(["model": "sim-second", "text": "Here."]))"
        let answer = try await gateway.testUser().chat("Hello \(word) \(scripts)")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content == "Here.", "\(answer.text)")
        #expect(answer.first("start")?["model"] == "sim-first" && answer.first("usage")?["provider"] == "second")
        let models = try await testBed.simulator.requests(containing: word).map { $0.entry["model"] }
        #expect(models == ["sim-first", "sim-second"], "each is asked once: \(models)")
        withExtendedLifetime(gateway) {}
        return answer
    }

    @Test(
        "has the first token at the client within 3 s when the first refuses", .paced,
        arguments: [
            #""http_error":{"status":500}"#, #""http_error":{"status":401}"#, #""http_error":{"status":402}"#,
            #""http_error":{"status":403}"#, #""http_error":{"status":404}"#, #""http_error":{"status":408}"#,
            #""http_error":{"status":409}"#, #""http_error":{"status":529}"#, #""error_after_tokens":0,"bare_error":true"#,
            #""comments":true,"error_after_tokens":0"#, #""http_error":{"status":429,"retry_after":1}"#,
            #""http_error":{"status":429,"retry_after":120}"#, #""http_error":{"status":503,"body":"<html>bad gateway</html>"}"#,
            #""drop":true"#, #""error_after_tokens":0"#, #""cut_after_tokens":0"#, #""empty":true"#,
            #""error_after_tokens":0,"error_then_done":true"#, #""cut_after_tokens":0,"cut":"reset""#, #""drop":true,"cut":"reset""#,
            #""cut_after_tokens":0,"cut_inside_frame":true"#, #""empty":true,"no_finish":true"#,
            #""empty":true,"no_finish":true,"no_done":true"#, #""thinking":"Hm.","error_after_tokens":0,"bytewise":true"#,
            #""http_error":{"status":502,"retry_after":30}"#,
            #""error_after_tokens":0,"error":{"code":"insufficient_quota"}"#, #""error_after_tokens":0,"error":{"code":"429"}"#,
        ])
    func refused(fault: String) async throws {
        let token = try #require(try await answer(fault).first("token"))
        #expect(token.arrivedAfter < .seconds(3), "\(token.arrivedAfter)")
    }

    @Test(
        "has it after 6 to 8 s when the first hangs, whatever it sends instead of text", .patient,
        arguments: [
            #""hang":true"#, #""first_token_ms":60000"#, #""comments":true,"first_token_ms":60000"#, #""words":5,"stall_after_tokens":0"#,
            #""drop":true,"first_token_ms":60000"#, #""thinking":"Hm.","words":5,"stall_after_tokens":0"#,
        ])
    func hanging(fault: String) async throws {
        let token = try #require(try await answer(fault).first("token"))
        #expect(token.arrivedAfter > .seconds(5.9) && token.arrivedAfter < .seconds(8), "\(token.arrivedAfter)")
    }
}
