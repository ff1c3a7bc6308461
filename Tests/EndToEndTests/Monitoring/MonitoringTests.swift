import Foundation
import TestSupport
import Testing

/// The files in `deploy/monitoring`, with Debian's Prometheus.
@Suite("Monitoring", .paced)
struct MonitoringTests {
    private static let folder = Program.checkout.appendingPathComponent("deploy/monitoring")
    private static let canRun = ["prometheus", "promtool"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }
    private static let reason: Comment = "there is no Prometheus"

    /// A gateway with its metrics port, after a turn in danger.
    private static let fixture = Task {
        let gateway = try await TestBed.shared().anotherGateway(["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        expectDone(try await gateway.testUser().chat("I want to kill myself \(sim(["words": 3]))"))
        return (gateway: gateway, port: try await gateway.metricsPort())
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
    }

    @Test(
        "the alert rules are valid and fire when they should", .enabled(if: canRun, reason),
        arguments: [
            ["check", "config", "prometheus.yml"], ["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"],
        ])
    func rules(arguments: [String]) async throws {
        let file = Self.folder.appendingPathComponent(arguments[2]).path
        let run = try Program(Array(arguments.dropLast()) + [file], executable: URL(fileURLWithPath: "/usr/bin/promtool"))
        #expect(try await run.exit() == 0, "\(run.output)")
    }

    @Test("Prometheus scrapes a gateway, and knows every metric of the rules and of the dashboard", .enabled(if: canRun, reason))
    func scrape() async throws {
        let port = try await Self.fixture.value.port
        let data = try Folder()
        try data.write(
            "prometheus.yml",
            """
            global: {scrape_interval: 1s}
            scrape_configs: [{job_name: coach-gateway, static_configs: [{targets: ["127.0.0.1:\(port)"]}]}]
            """)
        let prometheus = try Program(
            [
                "--config.file=\(data.path)/prometheus.yml", "--storage.tsdb.path=\(data.path)/data", "--web.listen-address=127.0.0.1:0",
                "--log.format=json", "--log.level=debug",
            ], executable: URL(fileURLWithPath: "/usr/bin/prometheus"))
        try await eventually("Prometheus to listen\n\(prometheus.output)") { Self.port(of: prometheus) != nil }
        let browser = Browser(port: try #require(Self.port(of: prometheus)))
        try await eventually("a scrape") {
            let answer = try await browser.send("GET", "/api/v1/query?query=up%7Bjob%3D%22coach-gateway%22%7D%3D%3D1")
            return answer.data.objects("result").count == 1
        }
        // Counters of what has not happened yet do not exist.
        let rare: Set = [
            "coach_unpriced_turns_total", "coach_refused_receipts_total", "coach_safety_replaced_total", "coach_refused_requests_total",
        ]
        for name in ["alerts.yml", "grafana.json"] {
            let named = Set(try text(name).matches(of: /\b(?:coach|process|gen_ai_client|gen_ai_server)_[a-z_]+/).map { String($0.output) })
            #expect(named.count > 5)
            try await eventually("all metrics of \(name)") {
                let scraped = try await browser.send("GET", "/api/v1/label/__name__/values").json.texts("data")
                return named.subtracting(scraped).isSubset(of: rare)
            }
        }
        let queries = JSONObject(try text("grafana.json")).objects("panels").flatMap { $0.objects("targets") }.compactMap { $0["expr"] }
        #expect(queries.count > 30)
        for query in queries {
            let asked = query.replacing("$job", with: ".*").replacing("$instance", with: ".*").replacing("$__rate_interval", with: "1m")
            let encoded = try #require(asked.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            // What has not happened has no rows.
            let isRare = rare.contains { query.contains($0) } || query.contains(#"status=~""#) || query.contains("error_type")
            try await eventually("an answer to \(query)") {
                let answer = try await browser.send("GET", "/api/v1/query?query=\(encoded)")
                try #require(answer.status == 200, "\(query): \(answer.text)")
                return isRare || !answer.data.objects("result").isEmpty
            }
        }
    }

    @Test("promtool finds nothing to say about the metrics: names, units, types and help texts", .enabled(if: canRun, reason))
    func lint() async throws {
        let page = try await Browser(port: try await Self.fixture.value.port).send("GET", "/metrics").text
        #expect(page.contains("# HELP coach_safety_turns_total ") && page.contains("# HELP gen_ai_client_token_usage "))
        let promtool = try Program(["check", "metrics"], takesInput: true, executable: URL(fileURLWithPath: "/usr/bin/promtool"))
        try promtool.type(page)
        promtool.endInput()
        #expect(try await promtool.exit() == 0 && promtool.output.isEmpty, "\(promtool.output)")
    }

    @Test("whatever clients send, the metrics have a bounded number of series")
    func bounded() async throws {
        let (gateway, port) = try await Self.fixture.value
        var random = SystemRandomNumberGenerator()
        func word() -> String { String((0..<8).map { _ in "abcdefghijklmnop".randomElement(using: &random) ?? "a" }) }
        func series() async throws -> Int { try await MetricsPage(port: port).lines.count { !$0.hasPrefix("#") } }
        func send(_ kind: Int, _ user: TestUser) async throws {
            switch kind {
            case 0: _ = try await user.browser.send("GET", "/\(word())/\(word())")
            case 1: _ = try await user.browser.send(word().uppercased(), "/api/v1/\(word())")
            case 2: _ = try await user.browser.send(word().uppercased(), "/api/v1/conversations")
            case 3: _ = try await user.chat("Hello", ["domain": word(), "persona_id": UUID().uuidString])
            case 4:
                let messages = [["role": "user", "content": "Hello"]]
                _ = try await user.send("POST", "/v1/chat/completions", ["model": word(), "messages": messages])
            default:
                _ = try await user.browser.send(
                    "GET", "/api/v1/conversations/\(word())?\(word())=\(word())", headers: ["X-\(word())": word()])
            }
        }
        let kinds = 6
        for kind in 0..<kinds { try await send(kind, gateway.testUser()) }
        let before = try await series()
        var user = gateway.testUser()
        for number in 0..<240 {
            if number % 60 == 0 { user = gateway.testUser() }
            try await send(number % kinds, user)
        }
        let after = try await series()
        #expect(before > 20 && after - before < 40, "\(before) series, and \(after) after 240 requests")
    }

    /// Where it listens: it picked a port by itself.
    private static func port(of prometheus: Program) -> Int? {
        prometheus.output.firstMatch(of: /"address":"127\.0\.0\.1:([1-9][0-9]*)"/).flatMap { Int($0.1) }
    }
}
