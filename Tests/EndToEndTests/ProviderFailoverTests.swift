import CoachCore
import Foundation
import TestSupport
import Testing

/// Two providers of which the first fails, seen from the client. Each fault has providers of its own, because it changes what the next call does.
@Suite("A provider behind one that fails")
struct ProviderFailoverTests {
    /// Faults (members of a script) of a provider that refuses, and of one that hangs.
    private static let refusals = [
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
    ]
    private static let hangs = [
        #""hang":true"#, #""first_token_ms":60000"#, #""comments":true,"first_token_ms":60000"#, #""words":5,"stall_after_tokens":0"#,
        #""drop":true,"first_token_ms":60000"#, #""thinking":"Hm.","words":5,"stall_after_tokens":0"#,
    ]

    private static func gateway() async throws -> Gateway {
        let testBed = try await TestBed.shared()
        let root = try Folder.routingByDomain(["first", "second"], through: testBed.simulator)
        return try await Gateway(database: testBed.database.gatewayURL, simulator: nil, environment: root.environment)
    }

    /// As many as the faults need, each with providers for each domain.
    private static let gateways = stride(from: 0, to: (refusals + hangs).count, by: Domain.allCases.count).map { _ in
        Task { try await gateway() }
    }

    /// The answer to a message whose first provider has this fault.
    private func answer(_ fault: String) async throws -> Answer {
        let place = try #require((Self.refusals + Self.hangs).firstIndex(of: fault)).quotientAndRemainder(dividingBy: Domain.allCases.count)
        let domain = Domain.allCases[place.remainder].rawValue
        // A reset of a connection that another call has left is no fault: the request is sent again.
        let gateway = try await fault.contains("reset") ? Self.gateway() : Self.gateways[place.quotient].value
        let word = marker()
        let scripts = "[[sim {\"model\":\"sim-first\",\(fault)}]] \(sim(["model": "sim-second", "text": "Here."]))"
        let answer = try await gateway.testUser().chat("Hello \(word) \(scripts)", ["domain": domain])
        #expect(answer.eventTypes == ["start", "token", "usage", "done"] && answer.content == "Here.", "\(answer.text)")
        #expect(answer.first("start")?["model"] == "sim-first" && answer.first("usage")?["provider"] == "second-\(domain)")
        let models = try await TestBed.shared().simulator.requests(containing: word).map { $0.entry["model"] }
        #expect(models == ["sim-first", "sim-second"], "each is asked once: \(models)")
        withExtendedLifetime(gateway) {}
        return answer
    }

    @Test("has the first token at the client within 3 s when the first refuses", .paced, arguments: refusals)
    func refused(fault: String) async throws {
        let token = try #require(try await answer(fault).first("token"))
        #expect(token.arrivedAfter < .seconds(3), "\(token.arrivedAfter)")
    }

    @Test("has it after 6 to 8 s when the first hangs, whatever it sends instead of text", .patient, arguments: hangs)
    func hanging(fault: String) async throws {
        let token = try #require(try await answer(fault).first("token"))
        #expect(token.arrivedAfter > .seconds(5.9) && token.arrivedAfter < .seconds(8), "\(token.arrivedAfter)")
    }

    @Test("leaves the failure in the operators' figures, in the list of calls to which they lead, and in the metrics", .paced)
    func healed() async throws {
        let (simulator, database) = (try await TestBed.shared().simulator, try await Database.ofItsOwn())
        let root = try Folder.routing(["sim-first", "sim-second"], through: simulator)
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: nil,
            environment: root.environment.merging(["COACH_METRICS_LISTEN": "127.0.0.1:0"]) { $1 })
        let scripts = "\(sim(["model": "sim-first", "http_error": ["status": 500]])) \(sim(["model": "sim-second", "text": "Here."]))"
        let answer = try await gateway.testUser().chat("Hello \(scripts)")
        #expect(answer.first("usage")?["model"] == "sim-second", "\(answer.text)")
        let turn = try #require(answer.first("start")?["turn_id"])
        try await eventually("the figures") {
            try await database.row("select coalesce(sum(failed_calls), 0)::int as failed from gateway.usage_days").number("failed") == 1
        }
        let editor = TestUser(gateway: gateway, role: "operator")
        let figure = try await editor.send("GET", "/api/v1/operator/providers?group_by=provider,model")
        let trace = try #require(figure.json.object("meta")["trace"])
        #expect(figure.list.map { $0["model"] } == ["sim-first", "sim-second"], "\(figure.text)")
        #expect(figure.list.map { $0.number("calls") } == [0, 1] && figure.list.map { $0.number("errors") } == [1, 0], "\(figure.text)")
        let expected = [("sim-first", "", 1), ("sim-first", "&error=true", 1), ("sim-second", "", 1), ("sim-second", "&error=true", 0)]
        for (model, filter, count) in expected {
            let calls = try await editor.send("GET", "\(trace)&provider=simulator&model=\(model)\(filter)").list
            #expect(calls.count == count && calls.allSatisfy { $0["turn_id"] == turn && $0.isNull("error_code") }, "\(calls)")
            #expect(calls.allSatisfy { $0.flag("error") == (model == "sim-first") && $0.number("calls") == 1 }, "\(calls)")
        }
        let page = try await MetricsPage(port: try await gateway.metricsPort())
        for (model, error) in [("sim-first", #"error_type="refused""#), ("sim-second", "")] {
            let series = page.lines.filter {
                $0.hasPrefix("gen_ai_client_operation_duration_seconds_count{") && $0.contains("gen_ai_request_model=\"\(model)\"")
            }
            #expect(series.count == 1 && series.allSatisfy { error.isEmpty ? !$0.contains("error_type") : $0.contains(error) }, "\(series)")
        }
    }
}
