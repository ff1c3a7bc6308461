import Foundation
import TestSupport
import Testing

@Suite("Traces of turns", .paced)
struct TraceTests {
    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]

    @Test(
        "a turn is a span below the caller's, its steps and its model call are its children, and the provider gets the call's",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package opentelemetry-proto"))
    func tree() async throws {
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/Traces/otlp_collector.py").path
        let collector = try Program([script], executable: URL(fileURLWithPath: try #require(Self.python)))
        let testBed = try await TestBed.shared()
        let gateway = try await testBed.anotherGateway([
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:\(try await collector.port())/v1/traces",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20key", "OTEL_SERVICE_NAME": "coach",
        ])
        let user = gateway.testUser()
        let (trace, caller, text) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", marker())
        let answer = try await user.chat("Help me plan \(text)", headers: ["traceparent": "00-\(trace)-\(caller)-01"])
        #expect(answer.events.last?["type"] == "done")
        // Not recorded by the caller, so not here.
        _ = try await user.chat("Another one", headers: ["traceparent": "00-\(trace)-00f067aa0ba902b8-00"])
        func spans() -> [JSONObject] { collector.lines.dropFirst().map { JSONObject($0) } }
        try await eventually("the spans\n\(collector.output)") { spans().contains { $0["name"] == "turn" } }

        let spans = spans()
        let turn = try #require(spans.first { $0["name"] == "turn" })
        #expect(turn["parent"] == caller && turn["service"] == "coach" && turn["key"] == "a key")
        #expect(spans.allSatisfy { $0["trace"] == trace })
        let children = spans.filter { $0["parent"] == turn["span"] }
        #expect(Set(children.compactMap { $0["name"] }) == ["assess", "begin", "chat sim-coach-1", "finish"])
        #expect(spans.count == children.count + 1)
        let call = try #require(children.first { $0["name"]?.hasPrefix("chat ") == true })
        #expect(
            call.object("attributes")["gen_ai.provider.name"] == "simulator"
                && call.object("attributes")["gen_ai.usage.input_tokens"] != nil)
        #expect(try #require(call.number("start")) >= #require(turn.number("start")))
        #expect(!collector.output.contains(text))
        let sent = try #require(await testBed.simulator.requests(containing: text).first)
        #expect(sent.entry.object("headers")["traceparent"] == "00-\(trace)-\(call["span"] ?? "")-01")
    }
}
