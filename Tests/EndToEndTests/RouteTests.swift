import Foundation
import TestSupport
import Testing

/// Hedging and least latency between two models of one simulator, `sim-first` and `sim-second`.
@Suite("Routes of two models", .paced)
struct RouteTests {
    /// A gateway with its own simulator and metrics.
    private struct Ground {
        let simulator: Simulator
        let gateway: Gateway
        private let root: Folder

        init(hedged: Bool = false, _ members: [String: Any] = [:]) async throws {
            simulator = try await Simulator()
            root = try Folder.routing(["sim-first", "sim-second"], through: simulator, hedged: hedged, members)
            gateway = try await Gateway(
                database: TestBed.shared().database.gatewayURL, simulator: nil,
                environment: root.environment.merging(["COACH_METRICS_LISTEN": "127.0.0.1:0"]) { $1 })
        }

        /// The value of a metric of a model; 0 when it does not exist.
        private func metric(_ name: String, of model: String) async throws -> Double {
            try await eventually("the metrics port") { gateway.log.contains { $0["message"] == "metrics available" } }
            let port = try #require(gateway.log.first { $0["message"] == "metrics available" }?.number("port"))
            let text = try await Browser(port: port).send("GET", "/metrics").text
            let line = text.split(separator: "\n").first { $0.hasPrefix("\(name){") && $0.contains("model=\"\(model)\"") }
            return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
        }

        /// Requests to a model that ended so.
        func requests(_ model: String, _ outcome: String) async throws -> Double {
            let page = try await MetricsPage(port: gateway.metricsPort())
            return page.lines.filter {
                $0.hasPrefix("coach_provider_requests_total{") && $0.contains("model=\"\(model)\"") && $0.contains("outcome=\"\(outcome)\"")
            }.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
        }

        /// Whether the first model's circuit is open, and how many probes it had.
        func circuit() async throws -> [Double] {
            [
                try await metric("coach_provider_circuit_open", of: "sim-first"),
                try await metric("coach_provider_probes_total", of: "sim-first"),
            ]
        }

        /// Second calls that began because the first model was late, and those that the second one answered.
        func hedges() async throws -> (started: Double, won: Double) {
            (
                try await metric("coach_hedges_started_total", of: "sim-first"),
                try await metric("coach_hedges_won_total", of: "sim-second")
            )
        }
    }

    /// A message with a script for each model.
    private func message(_ mark: String, first: [String: Any] = [:], second: [String: Any] = [:]) -> String {
        let scripts = [("sim-first", first), ("sim-second", second)].map { model, script in
            sim(["text": "This is \(model)."].merging(script) { $1 }.merging(["model": model]) { $1 })
        }
        return "Hello \(mark) \(scripts.joined(separator: " "))"
    }

    /// Rows of the ledger without those of revision 0: `call model tokens_out cost estimated`.
    private func booked(_ user: TestUser) async throws -> [String] {
        try await TestBed.shared().database.rows(
            """
            select l.call, l.model, coalesce(l.tokens_in, 0) > 0 as has_input, coalesce(l.cost_usd, 0) > 0 as has_cost, l.estimated
            from usage_logs l join users u using (account_id) where u.id = '\(user.id)' and l.revision > 0 order by call
            """
        ).map {
            "\($0.number("call") ?? 0) \($0["model"] ?? "-") \($0.flag("has_input") == true) \($0.flag("has_cost") == true) \($0.flag("estimated") == true)"
        }
    }

    private func recorded(_ user: TestUser) async throws -> [Int] {
        try await TestBed.shared().database.rows(
            "select l.call from usage_logs l join users u using (account_id) where u.id = '\(user.id)' and l.revision = 0 order by 1"
        ).compactMap { $0.number("call") }
    }

    @Test("a second provider is asked when the first is late; the loser is cancelled, both are in the ledger with their cost, and counted")
    func hedge() async throws {
        let ground = try await Ground(hedged: true)
        // As many as are needed to know the usual time of the first.
        for _ in 1...20 { expectDone(try await ground.gateway.testUser().chat(message("warm"))) }
        let warm = try await ground.hedges()

        let (user, mark) = (ground.gateway.testUser(), marker())
        let answer = try await user.chat(message(mark, first: ["stall_after_tokens": 0, "stall_ms": 20_000]))
        expectDone(answer)
        #expect(answer.content == "This is sim-second." && answer.first("usage")?["model"] == "sim-second")
        #expect(answer.endAfter < .seconds(6), "not by the limit of the first token")
        #expect(try await booked(user) == ["1 sim-second true true false", "3 sim-first true true true"])
        #expect(try await recorded(user) == [1, 3])
        try await eventually("the loser's end") {
            try await ground.simulator.requests(containing: mark).first { $0.entry["model"] == "sim-first" }?.entry["outcome"]
                == "client_closed"
        }
        #expect(try await ground.hedges() == (warm.started + 1, warm.won + 1))
        let budget = try await TestBed.shared().database.row(
            """
            select b.spent_usd = (select sum(l.cost_usd) from usage_logs l join users u using (account_id) where u.id = b.user_id) as balanced
            from budgets b where b.user_id = '\(user.id)'
            """)
        #expect(budget.flag("balanced") == true)

        // The first answers before the second after all.
        let late = ground.gateway.testUser()
        let first = try await late.chat(
            message(marker(), first: ["first_token_ms": 1_500], second: ["stall_after_tokens": 0, "stall_ms": 20_000]))
        #expect(first.content == "This is sim-first.")
        let rows = try await booked(late)
        #expect(rows.first?.hasPrefix("1 sim-first") == true && rows.count == 2, "\(rows)")
        #expect(try await ground.hedges() == (warm.started + 2, warm.won + 1))
    }

    @Test("a failure that the other model heals is counted at the model that failed")
    func healed() async throws {
        let ground = try await Ground()
        #expect(try await ground.requests("sim-first", "failed") == 0)
        let mark = marker()
        for number in 1...4 {
            let script: [String: Any] = number.isMultiple(of: 2) ? ["http_error": ["status": 500]] : [:]
            let answer = try await ground.gateway.testUser().chat(message(number.isMultiple(of: 2) ? mark : marker(), first: script))
            expectDone(answer)
            #expect(answer.first("usage")?["model"] == (number.isMultiple(of: 2) ? "sim-second" : "sim-first"))
        }
        let failed = try await ground.simulator.requests(containing: mark).count { $0.entry["model"] == "sim-first" }
        #expect(failed >= 2)
        #expect(try await ground.requests("sim-first", "failed") == Double(failed))
        #expect(try await ground.requests("sim-first", "answered") == 2)
        #expect(try await ground.requests("sim-second", "answered") == 2)
        #expect(try await ground.requests("sim-second", "failed") == 0)
    }

    @Test("a model that fails five times has an open circuit until a probe is answered, as the metrics say")
    func circuit() async throws {
        let ground = try await Ground()
        #expect(try await ground.circuit() == [0, 0])
        // Each turn calls it at least once, then the other.
        for _ in 1...5 {
            expectDone(try await ground.gateway.testUser().chat(message(marker(), first: ["http_error": ["status": 500]])))
        }
        #expect(try await ground.circuit() == [1, 0])
        let skipping = try await ground.gateway.testUser().chat(message(marker()))
        #expect(skipping.content == "This is sim-second.")
        try await eventually(within: .seconds(20), "an answered probe") {
            try await ground.gateway.testUser().chat(message(marker())).content == "This is sim-first."
        }
        #expect(try await ground.circuit() == [0, 1])
    }

    @Test("with weights each model is asked")
    func weights() async throws {
        let ground = try await Ground(["weight": 1])
        let mark = marker()
        for _ in 1...16 { expectDone(try await ground.gateway.testUser().chat(message(mark))) }
        let asked = try await ground.simulator.requests(containing: mark).map { $0.entry["model"] ?? "-" }
        // One of 32,768 runs asks one alone.
        #expect(Set(asked) == ["sim-first", "sim-second"])
    }

    @Test("with least latency the faster model is asked, whatever the order of the route")
    func leastLatency() async throws {
        let ground = try await Ground(["least_latency": true])
        let mark = marker()
        for _ in 1...12 {
            expectDone(try await ground.gateway.testUser().chat(message(mark, first: ["first_token_ms": 400])))
        }
        let asked = try await ground.simulator.requests(containing: mark).map { $0.entry["model"] ?? "-" }
        // Each at once, because their times are not known; a time is noted after the client has read the answer, so the next call may come before.
        // One call of twenty explores.
        #expect(Set(asked.prefix(4)) == ["sim-first", "sim-second"], "\(asked)")
        #expect(asked.dropFirst(4).count { $0 == "sim-second" } >= 5, "\(asked)")
    }
}
