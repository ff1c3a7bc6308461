import Foundation
import Synchronization
import TestSupport
import Testing

/// Generated turns with faults of the provider over two gateways: what operators see against the ledger, exactly. COACH_TEST_DAY_TURNS says how many
/// turns; nothing here is kept for each of them.
@Suite("A day of turns", .paced)
struct DayOfTurnsTests {
    private static let turns = ProcessInfo.processInfo.environment["COACH_TEST_DAY_TURNS"].flatMap { Int($0) } ?? 300
    private static let people = 12
    /// Of one user, one after another.
    private static let turnsOfUser = 10
    private static let groups = ["model", "provider", "domain", "tier"]

    private static func message(_ random: inout SystemRandomNumberGenerator) -> String {
        let words = Int.random(in: 2...12, using: &random)
        var script: [String: Any] = ["words": words]
        switch Int.random(in: 0..<20, using: &random) {
        case 0: script["cut_after_tokens"] = 1
        case 1: script["error_after_tokens"] = 1
        case 2: script["http_error"] = ["status": 500]
        case 3: script["no_usage"] = true
        case 4: script["empty"] = true
        default:
            script["usage"] = [
                "prompt_tokens": Int.random(in: 600...5_000, using: &random), "cached_tokens": Int.random(in: 0...500, using: &random),
                "completion_tokens": Int.random(in: 1...2_000, using: &random), "reasoning_tokens": 0,
            ]
        }
        return "Hello \(sim(script))"
    }

    @Test("dashboard, CSV and ledger agree to the nanodollar, and the metrics of each instance with what it did since it started")
    func day() async throws {
        let database = try await Database.ofItsOwn()
        let simulator = try await Simulator()
        let gateways = try await (0..<2).asyncMap { _ in
            try await Gateway(
                database: database.gatewayURL, simulator: simulator.url,
                environment: StateFolder().state(["COACH_METRICS_LISTEN": "127.0.0.1:0"]))
        }
        let metricsPorts = try await gateways.asyncMap { try await $0.metricsPort() }
        let sent = Sent()
        try await eventually("the first fold") { try await Self.delay(of: database) != nil }
        let began = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                repeat {
                    sent.note(delay: try #require(try await Self.delay(of: database)))
                    try await Task.sleep(for: .milliseconds(500))
                } while !sent.hasAll(Self.turns)
            }
            for person in 0..<Self.people {
                group.addTask {
                    var random = SystemRandomNumberGenerator()
                    var (number, user) = (0, UUID().uuidString.lowercased())
                    var users = gateways.map { TestUser(gateway: $0, id: user) }
                    while sent.begins(atMost: Self.turns) {
                        number += 1
                        if number % Self.turnsOfUser == 0 {
                            user = UUID().uuidString.lowercased()
                            users = gateways.map { TestUser(gateway: $0, id: user) }
                        }
                        let place = Int.random(in: 0..<2, using: &random)
                        let domain = ["fitness", "mindset", "relationships"][person % 3]
                        let answer = try await users[place].chat(
                            Self.message(&random), person % 4 == 0 ? [:] : ["domain": domain], timeout: 60)
                        #expect(answer.status == 200, "\(answer.text)")
                        let usage = answer.first("usage")?.fields
                        sent.add(usage, to: place)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await eventually(within: .seconds(60), "the end of all turns") {
            try await database.rows("select 1 as one from turns where status = 'running'").isEmpty
        }
        let (ended, took) = (Date(), ContinuousClock.now - began)
        // CONTRACT §5.
        #expect(sent.longestDelay <= 5, "figures were \(sent.longestDelay) s behind")
        let editor = TestUser(gateway: gateways[0], role: "operator")
        func get(_ path: String, accept: String = "application/json") async throws -> Answer {
            try await editor.browser.send("GET", "/api/v1/operator/\(path)", headers: ["Accept": accept])
        }
        // Asked of the database, because a user's requests are limited.
        try await eventually(within: .seconds(60), "the figures") {
            try await database.row("select as_of > to_timestamp(\(ended.timeIntervalSince1970)) as is_new from gateway.rollup_state")
                .flag("is_new") == true
        }

        // Costs: JSON, CSV and the ledger, by every group.
        let columns = Self.groups + ["input_tokens", "cached_input_tokens", "output_tokens", "cost_usd"]
        let ledger = try await database.rows(
            """
            select model, provider, domain, tier, sum(tokens_in)::text as input_tokens,
                sum(cached_input_tokens)::text as cached_input_tokens, sum(tokens_out)::text as output_tokens,
                sum(cost_usd)::text as cost_usd
            from model_calls group by 1, 2, 3, 4
            """
        ).map { row in columns.map { row[$0] ?? "" } }
        let path = "costs?group_by=\(Self.groups.joined(separator: ","))"
        let json = try await get(path).json.objects("data").map { row in
            columns.map { name in row[name] ?? row.number(name).map { "\($0)" } ?? "" }
        }
        let lines = try await get(path, accept: "text/csv").text.split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let places = try columns.map { name in try #require(lines.first?.firstIndex(of: name)) }
        let csv = lines.dropFirst().map { line in places.map { line[$0] } }
        #expect(Self.exact(json) == Self.exact(ledger) && Self.exact(csv) == Self.exact(ledger))
        #expect(ledger.count >= 3, "\(ledger)")

        // Turns, errors and latency.
        let counts = try await database.row(
            """
            select (select count(*) from turns) as turns, (select count(*) from turns where error_code is not null) as errors,
                (select count(distinct turn_id) from model_calls) as billed,
                (select count(*) from usage_logs where revision = 1 and time_to_first_token_ms is not null and finalized_by is not null) as timed,
                (select round(sum(cost_usd) * 1000000000)::bigint from model_calls) as nanodollars,
                (select sum(cost_usd)::text from model_calls) as cost
            """)
        let usage = try await get("usage").json.objects("data")
        func total(_ name: String) -> Int { usage.compactMap { $0.number(name) }.reduce(0, +) }
        #expect(counts.number("turns") == Self.turns && total("messages") == Self.turns)
        #expect(total("errors") == counts.number("errors") && total("turns") == counts.number("billed"))
        #expect(total("errors") > 0)
        let latency = try await get("latency").json.objects("data").first
        #expect(latency?.number("turns") == counts.number("timed"))
        let costs = try await get("costs").json.objects("data").first
        #expect(costs?.number("turns") == counts.number("billed"))

        // The screen shows the same.
        if PageScript.canRun {
            let (cost, billed) = (try #require(counts["cost"]), try #require(counts.number("billed")))
            let rows = try await database.row(
                """
                select jsonb_object_agg(g.name, g.rows)::text as rows from (
                    select f.name, jsonb_agg(f.figures) as rows from (
                        select k.name, jsonb_build_array(
                            min(k.shown), count(distinct m.turn_id)::text, sum(m.cost_usd)::text, sum(m.tokens_in)::text, sum(m.tokens_out)::text) as figures,
                            row_number() over (partition by k.name order by k.value collate "C") as place
                        from model_calls m
                        cross join lateral (
                            values ('model', m.model, m.model), ('domain', m.domain::text, coalesce(initcap(m.domain::text), 'General')),
                                ('tier', m.tier, initcap(m.tier)), ('user', m.user_id::text, left(m.user_id::text, 8) || '…')
                        ) as k (name, value, shown)
                        group by k.name, k.value) as f
                    -- More users are in the total only.
                    where f.place <= 1000
                    group by f.name) as g
                """)
            try await PageScript.run(
                "figures.py",
                [
                    "http://127.0.0.1:\(gateways[0].port)", PageScript.operatorToken(), cost, "\(billed)", try #require(rows["rows"]),
                ])
        }

        // Each instance counts what it did.
        let pages = try await metricsPorts.asyncMap { port in try await MetricsPage(port: port) }
        for (page, sent) in zip(pages, sent.all) {
            #expect(page.sum("coach_turns_total") == Double(sent.turns))
            #expect(page.sum("gen_ai_client_token_usage_sum", #"gen_ai_token_type="input""#) == Double(sent.input))
            #expect(page.sum("gen_ai_client_token_usage_sum", #"gen_ai_token_type="output""#) == Double(sent.output))
            #expect(page.sum("coach_cost_nanodollars_total") == Double(sent.nanodollars))
        }
        #expect(pages.map { $0.sum("coach_cost_nanodollars_total") }.reduce(0, +) == counts.number("nanodollars").map(Double.init))
        // Each request to the model, also those that were repeated.
        let requests = try await Browser(port: simulator.port).send("GET", "/simulator/stats").json.number("started")
        #expect(requests ?? 0 >= counts.number("billed") ?? 0)
        #expect(pages.map { $0.sum("gen_ai_client_operation_duration_seconds_count") }.reduce(0, +) == requests.map(Double.init))
        #expect(
            pages.map { $0.sum("gen_ai_server_time_to_first_token_seconds_count") }.reduce(0, +) == counts.number("timed").map(Double.init))
        print(
            "\(Self.turns) turns, \(counts.number("errors") ?? 0) with an error, \(counts.number("nanodollars") ?? 0) nanodollars,",
            "\(Int(Double(Self.turns) / (took / .seconds(1)))) turns/s, figures at most \(sent.longestDelay) s behind")
    }

    /// Seconds by which figures are behind; nil before the first fold.
    private static func delay(of database: Database) async throws -> Double? {
        let sql = "select extract(epoch from clock_timestamp() - as_of)::float8 as seconds from gateway.rollup_state"
        return try await database.row(sql).real("seconds")
    }

    /// Rows in one order, numbers without zeros at their end.
    private static func exact(_ rows: [[String]]) -> [[String]] {
        rows.map { row in row.map { text in Decimal(string: text).map { "\($0)" } ?? text } }.sorted {
            $0.joined(separator: "|") < $1.joined(separator: "|")
        }
    }
}

/// What clients sent to each gateway and were answered, and how far figures were behind meanwhile.
private final class Sent: Sendable {
    struct Sums {
        var turns = 0
        var input = 0
        var output = 0
        var nanodollars = 0
    }

    private let state = Mutex((begun: 0, all: [Sums(), Sums()], delay: 0.0))

    /// By gateway: ended turns, and the tokens and costs of their `usage` events.
    var all: [Sums] { state.withLock { $0.all } }

    /// Whether another turn begins.
    func begins(atMost turns: Int) -> Bool {
        state.withLock { state in
            state.begun += 1
            return state.begun <= turns
        }
    }

    func hasAll(_ turns: Int) -> Bool { state.withLock { $0.begun > turns } }

    /// Seconds.
    var longestDelay: Double { state.withLock { $0.delay } }

    func note(delay: Double) { state.withLock { $0.delay = max($0.delay, delay) } }

    func add(_ usage: JSONObject?, to place: Int) {
        let (input, output) = (usage?.number("input_tokens") ?? 0, usage?.number("output_tokens") ?? 0)
        let cost = usage?["cost_usd"].flatMap { Decimal(string: $0) } ?? 0
        let nanodollars = NSDecimalNumber(decimal: cost * 1_000_000_000).intValue
        state.withLock { state in
            state.all[place].turns += 1
            state.all[place].nanodollars += nanodollars
            state.all[place].input += input
            state.all[place].output += output
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ make: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await make(element)) }
        return values
    }
}
