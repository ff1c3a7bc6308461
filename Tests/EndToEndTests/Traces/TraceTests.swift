import Foundation
import HTTPTestServers
import Synchronization
import TestSupport
import Testing

@Suite("Traces of turns", .paced)
struct TraceTests {
    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]

    /// A gateway that exports all its traces to a collector, which prints them.
    private struct Fixture {
        let collector: Program
        let gateway: Gateway

        static let shared = Task {
            let collector = try TraceTests.collector()
            let gateway = try await TestBed.shared().anotherGateway([
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:\(try await collector.port())/v1/traces",
                "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20key", "OTEL_SERVICE_NAME": "coach",
            ])
            return Fixture(collector: collector, gateway: gateway)
        }

        func spans(of trace: String) -> [JSONObject] {
            collector.lines.dropFirst().map { JSONObject($0) }.filter { $0["trace"] == trace }
        }
    }

    private static func collector() throws -> Program {
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/Traces/otlp_collector.py").path
        return try Program([script], executable: URL(fileURLWithPath: try #require(python)))
    }

    private static let traces = Mutex<Set<String>>([])

    /// An id that no other test has, and which is kept in `traces`.
    private static func newTrace() -> String {
        let trace = (0..<32).map { _ in "123456789abcdef".randomElement().map(String.init) ?? "" }.joined()
        traces.withLock { _ = $0.insert(trace) }
        return trace
    }

    @Test(
        "a turn is a span below the caller's, its steps are its children, and the provider gets the request's",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package opentelemetry-proto"))
    func tree() async throws {
        let fixture = try await Fixture.shared.value
        let collector = fixture.collector
        let user = TestUser(gateway: fixture.gateway, role: "creator")
        let (trace, caller, text) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", marker())
        let (answered, goal, tone) = (marker(), marker(), marker())
        let profile = try await user.send("PUT", "/api/v1/context-profile", ["goals": [goal]], headers: ["If-Match": "*"])
        #expect(profile.status == 200, "\(profile.text)")
        let persona = try #require(try await user.send("POST", "/api/v1/personas", ["name": "Ada", "tone": tone]).data["id"])
        #expect(try await user.send("POST", "/api/v1/personas/\(persona)/publish").status == 200)
        let answer = try await user.chat(
            "Help me plan \(text) \(sim(["text": "Plan \(answered) first."]))", ["persona_id": persona],
            headers: ["traceparent": "00-\(trace)-\(caller)-01", "tracestate": "a=1"])
        #expect(answer.events.last?["type"] == "done" && answer.content.contains(answered), "\(answer.text)")
        // Not recorded by the caller, so not here.
        _ = try await user.chat("Another one", headers: ["traceparent": "00-\(trace)-00f067aa0ba902b8-00"])
        try await eventually("the spans\n\(collector.output)") { fixture.spans(of: trace).contains { $0["name"] == "turn" } }

        let spans = fixture.spans(of: trace)
        let turn = try #require(spans.first { $0["name"] == "turn" })
        #expect(turn["parent"] == caller && turn["service"] == "coach" && turn["key"] == "a key")
        let traced = Set(collector.lines.dropFirst().compactMap { JSONObject($0)["trace"] })
        let turns = Self.traces.withLock { $0.union([trace]) }
        #expect(traced.isSubset(of: turns), "turns alone are traced:\n\(collector.output)")
        let children = spans.filter { $0["parent"] == turn["span"] }
        #expect(Set(children.compactMap { $0["name"] }) == ["assess", "begin", "decide", "compose", "generate", "finish"])
        let step = try #require(children.first { $0["name"] == "generate" })
        let call = try #require(spans.first { $0["name"] == "chat sim-coach-1" })
        #expect(spans.count == children.count + 2 && call["parent"] == step["span"] && call.number("kind") == 3)
        let attributes = call.object("attributes")
        #expect(attributes["gen_ai.provider.name"] == "simulator" && attributes["gen_ai.response.finish_reasons"]?.contains("stop") == true)
        #expect(attributes["gen_ai.usage.input_tokens"] != nil && attributes["http.response.status_code"] == "200")
        #expect(try #require(call.number("start")) >= #require(turn.number("start")))
        let sent = try #require(try await TestBed.shared().simulator.requests(containing: text).first)
        #expect(sent.system.contains(goal) && sent.system.contains(tone), "\(sent.system)")
        for secret in [text, answered, goal, tone] { #expect(!collector.output.contains(secret)) }
        #expect(sent.entry.object("headers")["traceparent"] == "00-\(trace)-\(call["span"] ?? "")-01")
        #expect(sent.entry.object("headers")["tracestate"] == nil)
    }

    @Test(
        "a turn of OpenAI's clients has its steps, and a refused one ends its span",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package opentelemetry-proto"))
    func openAI() async throws {
        let fixture = try await Fixture.shared.value
        let user = fixture.gateway.testUser()
        func trace(_ path: String, _ body: [String: Any]) async throws -> (status: Int, spans: [JSONObject]) {
            let trace = Self.newTrace()
            let answer = try await user.send("POST", path, body, headers: ["traceparent": "00-\(trace)-00f067aa0ba902b7-01"])
            try await eventually("the spans\n\(fixture.collector.output)") {
                fixture.spans(of: trace).contains { $0["name"] == "turn" }
            }
            return (answer.status, fixture.spans(of: trace))
        }
        let messages = [["role": "user", "content": "Hello \(sim(["words": 2]))"]]
        let answered = try await trace("/v1/chat/completions", ["model": "coach", "messages": messages])
        #expect(answered.status == 200 && Set(answered.spans.compactMap { $0["name"] }).isSuperset(of: ["assess", "begin", "finish"]))
        #expect(answered.spans.first { $0["name"] == "turn" }?.object("attributes")["coach.turn.status"] == "complete")
        for (path, body) in [
            ("/v1/chat/completions", ["model": "nobody", "messages": messages]), ("/v1/responses", ["model": "nobody", "input": "Hello"]),
            ("/v1/chat/completions", [:]),
        ] as [(String, [String: Any])] {
            let refused = try await trace(path, body)
            let turn = refused.spans.first { $0["name"] == "turn" }
            #expect(refused.status >= 400 && turn?.flag("error") == true, "\(path): \(refused)")
        }
    }

    @Test(
        "a turn that is rejected after it began, for a budget that turns out to be spent, ends its span with an error",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package opentelemetry-proto"))
    func spentBudget() async throws {
        let collector = try Self.collector()
        let (database, simulator, root) = (try await Database.ofItsOwn(), try await Simulator(), try Folder.copyOfRoot())
        try root.edit("deploy/tiers.json") { tiers in
            tiers["installation_usd_per_day"] = "0.001"
            tiers["usd_reserved_per_turn"] = "0.001"
        }
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: simulator.url,
            environment: [
                "COACH_ROOT": root.path, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:\(try await collector.port())/v1/traces",
            ])
        let slow = gateway.testUser()
        async let reserving = slow.chat("Hello \(sim(["words": 100, "pace_ms": 100]))")
        try await eventually("a turn that has reserved the budget") {
            try await database.rows("select user_id from gateway.running_turns where user_id = '\(slow.id)'").count == 1
        }
        #expect(try await gateway.testUser().chat("Hello").status == 429)
        func spans() -> [JSONObject] { collector.lines.dropFirst().map { JSONObject($0) } }
        func rejected() -> JSONObject? { spans().first { $0["name"] == "turn" && $0.flag("error") == true } }
        try await eventually("the spans\n\(collector.output)") { rejected() != nil }
        let turn = try #require(rejected())
        _ = try await reserving
        #expect(turn.object("attributes")["coach.error.code"] == "BIZ_2002")
        #expect(spans().contains { $0["name"] == "begin" && $0["parent"] == turn["span"] })
    }

    @Test(
        "each request to a provider is a span of its own, of a failover and of a hedge, and each provider gets its own",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package opentelemetry-proto"))
    func requests() async throws {
        let collector = try Self.collector()
        let simulator = try await Simulator()
        let roots = try [true, false].map { try Folder.routing(["sim-first", "sim-second"], through: simulator, hedged: $0) }
        func gateway(_ root: Folder) async throws -> Gateway {
            try await Gateway(
                database: TestBed.shared().database.gatewayURL, simulator: nil,
                environment: root.environment.merging([
                    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:\(try await collector.port())/v1/traces"
                ]) { $1 })
        }
        let (hedging, plain) = (try await gateway(roots[0]), try await gateway(roots[1]))
        /// The spans of the requests of a turn, in the order in which they began. `first`: what is different about the first model's answer.
        func turn(_ gateway: Gateway, _ first: [String: Any]) async throws -> [JSONObject] {
            let (trace, mark) = (Self.newTrace(), marker())
            let scripts = [("sim-first", first), ("sim-second", [String: Any]())].map { model, script in
                sim(["text": "This is \(model)."].merging(script) { $1 }.merging(["model": model]) { $1 })
            }
            let answer = try await gateway.testUser().chat(
                "Hello \(mark) \(scripts.joined(separator: " "))", headers: ["traceparent": "00-\(trace)-00f067aa0ba902b7-01"])
            expectDone(answer)
            guard !first.isEmpty else { return [] }
            #expect(answer.content == "This is sim-second.")
            func spans() -> [JSONObject] { collector.lines.dropFirst().map { JSONObject($0) }.filter { $0["trace"] == trace } }
            try await eventually("the spans\n\(collector.output)") {
                spans().contains { $0["name"] == "turn" } && spans().filter { $0["name"]?.hasPrefix("chat ") == true }.count == 2
            }
            let turn = spans().first { $0["name"] == "turn" }
            let step = spans().first { $0["name"] == "generate" }
            let requests = spans().filter { $0["name"]?.hasPrefix("chat ") == true }
                .sorted { ($0.number("start") ?? 0) < ($1.number("start") ?? 0) }
            #expect(step?["parent"] == turn?["span"] && step?.flag("error") == false)
            #expect(requests.allSatisfy { $0["parent"] == step?["span"] && $0.object("attributes")["gen_ai.provider.name"] == "simulator" })
            #expect(requests.map { $0["name"] } == ["chat sim-first", "chat sim-second"])
            let sent = try await simulator.requests(containing: mark).compactMap { $0.entry.object("headers")["traceparent"] }
            #expect(sent.sorted() == requests.map { "00-\(trace)-\($0["span"] ?? "")-01" }.sorted())
            return requests
        }
        // As many as are needed to know the usual time of the first.
        for _ in 1...20 { _ = try await turn(hedging, [:]) }
        let hedge = try await turn(hedging, ["stall_after_tokens": 0, "stall_ms": 20_000])
        let (late, second) = (hedge[0].object("attributes"), hedge[1].object("attributes"))
        #expect(late["coach.request.cancelled"] == "True" && late["error.type"] == nil && late["gen_ai.response.finish_reasons"] == nil)
        #expect(second["coach.request.hedge"] == "True" && second["gen_ai.response.finish_reasons"]?.contains("stop") == true)
        #expect(hedge.allSatisfy { $0.flag("error") == false })
        #expect(try #require(hedge[1].number("start")) < #require(hedge[0].number("end")), "they ran at the same time")

        let failover = try await turn(plain, ["http_error": ["status": 503]])
        let (failed, answered) = (failover[0].object("attributes"), failover[1].object("attributes"))
        #expect(failed["http.response.status_code"] == "503" && failed["error.type"] == "refused" && failover[0].flag("error") == true)
        #expect(failed["gen_ai.request.model"] == "sim-first" && failed["gen_ai.response.model"] == nil)
        #expect(answered["http.response.status_code"] == "200" && answered["gen_ai.response.model"] == "sim-second")
        #expect(answered["coach.request.hedge"] == nil && answered["error.type"] == nil && failover[1].flag("error") == false)
        #expect(try #require(failover[1].number("start")) >= #require(failover[0].number("end")), "one after the other")
    }

    @Test("without export a caller's trace is passed on to the provider, but not what its vendors have written into it")
    func passed() async throws {
        let testBed = try await TestBed.shared()
        let (parent, text) = ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", marker())
        let headers = ["traceparent": parent, "tracestate": "a=1"]
        expectDone(try await testBed.testUser().chat("Hello \(text) \(sim(["words": 2]))", headers: headers))
        let sent = try #require(try await testBed.simulator.requests(containing: text).first).entry.object("headers")
        #expect(sent["traceparent"] == parent && sent["tracestate"] == nil)
        let own = marker()
        expectDone(try await testBed.testUser().chat("Hello \(own) \(sim(["words": 2]))"))
        #expect(try await testBed.simulator.requests(containing: own).first?.entry.object("headers")["traceparent"] == nil)
    }

    @Test("a collector that hangs delays no turn")
    func hanging() async throws {
        let collector = try StoreAPI()
        let gateway = try await TestBed.shared().anotherGateway(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.url + "/v1/traces"])
        collector.pause(true)
        defer { collector.pause(false) }
        let began = ContinuousClock.now
        // The exporter waits for the collector from the first second on. A user for each turn: one is limited to 600 requests a minute.
        while began.duration(to: .now) < .seconds(3) {
            let answer = try await gateway.testUser().chat("Hello \(sim(["words": 2]))")
            expectDone(answer)
            #expect(answer.endAfter < .seconds(3), "the exporter itself waits for 5 s")
        }
    }
}
