import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite("Alerts")
struct AlertTests {
    private static func rule(_ id: String, _ measure: AlertRule.Measure, above: Double) -> AlertRule {
        AlertRule(id: id, measure: measure, above: above, windowMinutes: 60, minimum: 1, severity: .warning)
    }

    @Test("an alert begins once on several instances, is resolved once, and both are delivered by a job; operators list it")
    func life() async throws {
        let store = try await StoreFixture()
        let instances = (0..<3).map { _ in Alerts.postgres(client: store.gateway, instance: UUID(), isDelivered: true) }
        let rules = AlertRules(rules: [Self.rule("spool", .spooledReceipts, above: 1)])
        func evaluate(_ readings: [Double]) async throws -> Set<[String]> {
            try await withThrowingTaskGroup(of: [String].self) { group in
                for (alerts, reading) in zip(instances, readings) {
                    group.addTask { try await alerts.evaluate(rules, [.spooledReceipts: reading]) }
                }
                return try await group.reduce(into: []) { $0.insert($1) }
            }
        }
        /// What all say once the readings are noted, and whoever evaluated them has committed: at once, each may see the state before.
        func settled(_ readings: [Double]) async throws -> Set<[String]> {
            for _ in 0..<2 { _ = try await evaluate(readings) }
            return try await evaluate(readings)
        }
        #expect(try await settled([0, 1, 0]) == [[]], "one receipt of all instances is not above 1")
        #expect(try await settled([1, 1, 0]) == [["spool"]])
        #expect(try await settled([0, 0, 0]) == [[]])
        _ = try await evaluate([5, 0, 0])
        _ = try await evaluate([5, 0, 0])

        let figures = Figures.postgres(client: store.gateway)
        let admin = Caller.someone(role: .operator)
        let all = try await figures.alerts(admin, nil, PageRequest(limit: 10))
        let state = try #require(Figure.alerts.columns.firstIndex { $0.name == "state" })
        #expect(all.rows.map { $0[state] } == [.text("firing"), .text("resolved")])
        #expect(try await figures.alerts(admin, true, PageRequest(limit: 10)).rows == [all.rows[0]])
        let page = try await figures.alerts(admin, nil, PageRequest(limit: 1))
        #expect(try await figures.alerts(admin, nil, PageRequest(limit: 1, cursor: page.nextCursor)).rows == [all.rows[1]])
        await #expect(throws: NotAllowed.self) { try await figures.alerts(.someone(), nil, PageRequest(limit: 1)) }
        let jobs = try await store.admin.query("select payload ->> 'state' from gateway.jobs where kind = 'deliver_alert' order by id") {
            rows in
            try rows.map { row in try row.value(0, as: String.self) }
        }
        #expect(jobs == ["firing", "resolved", "firing"])
        // A rule that is gone fires no more.
        #expect(try await instances[0].evaluate(AlertRules(rules: []), [:]) == [])
        #expect(try await figures.alerts(admin, true, PageRequest(limit: 10)).rows.isEmpty)
    }

    @Test("each measure is above its threshold when something happened, at rest before, and its alert is resolved when that is over")
    func measures() async throws {
        let store = try await StoreFixture()
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), isDelivered: false)
        let rules = AlertRules(
            rules: AlertRule.Measure.allCases.map { measure in
                let threshold: Double =
                    switch measure {
                    case .cost: 0.0001
                    case .costGrowth: 2
                    case .jobLag: 30
                    case .errorShare: 0.4
                    case .firstTokenP95: 100
                    default: 0
                    }
                return Self.rule(measure.rawValue, measure, above: threshold)
            })
        #expect(try await alerts.evaluate(rules, [.spooledReceipts: 0, .missingClassifiers: 0]) == [])
        let (caller, turns) = (Caller.someone(), store.turns())
        try await turns.talk(caller, "Hello")
        try await turns.talk(caller, "Nobody answers", status: .failed)
        let unpriced = try await turns.begin(caller, TurnRequest(message: "Hi"), risk: .calm).begun.identity
        var receipt = TurnReceipt.complete(unpriced, of: caller, cost: nil)
        receipt.errorCode = "EXT_4001"
        try await turns.finish(receipt)
        try await store.admin.execute(
            """
            insert into gateway.jobs (kind, due_at, max_attempts, state)
            values ('x', now() - interval '1 minute', 1, 'dead'), ('y', now() - interval '1 minute', 1, 'ready')
            """)
        try await store.admin.execute("update public.budgets set limit_share = 0.9 where user_id = \(caller.userID.uuid)")
        try await store.admin.execute(
            "select gateway.take_slice('installation', '', (now() at time zone 'UTC')::date, 1000, 10)")
        try await store.foldRollups()
        // Three times as much in the hour before this quarter as in the one before.
        try await store.admin.execute(
            """
            insert into gateway.usage_quarters (bucket, tier, calls, cost_nanodollars)
            select date_bin('15 minutes', now(), 'epoch') - ago, 'pro', 1, cost
            from (values (interval '15 minutes', 3000), (interval '75 minutes', 1000)) as q (ago, cost)
            """)
        let model = ModelName(provider: "p", model: "m")
        try await alerts.note([model: .halfOpen])
        let firing = try await alerts.evaluate(rules, [.spooledReceipts: 1, .missingClassifiers: 1, .webhookLag: 1])
        let all = Set(rules.rules.map(\.id))
        #expect(Set(firing) == all)

        // The windows pass, the queue is mended, and a day with new budgets begins.
        for table in ["usage_quarters", "latency_quarters", "latency_hours"] {
            try await store.admin.execute(Query(unsafeSQL: "update gateway.\(table) set bucket = bucket - interval '1 day'"))
        }
        try await store.admin.execute("delete from gateway.jobs")
        try await store.admin.execute("update public.budgets set day = day - 1")
        try await store.admin.execute("update gateway.shared_budgets set day = day - 1")
        try await alerts.note([model: .closed])
        #expect(try await alerts.evaluate(rules, [.spooledReceipts: 0, .missingClassifiers: 0, .webhookLag: 0]) == [])
        let table = try await Figures.postgres(client: store.gateway).alerts(.someone(role: .operator), false, PageRequest(limit: 100))
        #expect(Set(table.texts(.alerts, ["measure"]).map { $0[0] }) == all && table.rows.count == all.count)
    }

    @Test("steady cost grows by nothing, and a window of a quarter of an hour has what began in it")
    func windows() async throws {
        let store = try await StoreFixture()
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), isDelivered: false)
        func firing(_ measure: AlertRule.Measure, above: Double, minutes: Int) async throws -> Bool {
            let rule = AlertRule(id: "x", measure: measure, above: above, windowMinutes: minutes, minimum: 1, severity: .warning)
            return try await alerts.evaluate(AlertRules(rules: [rule]), [:]) == ["x"]
        }
        func insert(_ table: String, _ columns: String, _ values: String, quartersAgo: ClosedRange<Int>) async throws {
            try await store.admin.execute(
                Query(
                    unsafeSQL: """
                        insert into gateway.\(table) (bucket, \(columns))
                        select date_bin('15 minutes', now(), 'epoch') - n * interval '15 minutes', \(values)
                        from generate_series(\(quartersAgo.lowerBound), \(quartersAgo.upperBound)) as n
                        """))
        }
        try await insert("usage_quarters", "tier, calls, cost_nanodollars, priced_calls", "'free', 1, 1000, 1", quartersAgo: 0...12)
        // Also in windows that are no whole quarters of an hour.
        for minutes in [15, 25, 40, 60, 75] {
            #expect(try await firing(.costGrowth, above: 0.99, minutes: minutes), "\(minutes)")
            #expect(try await firing(.costGrowth, above: 1, minutes: minutes) == false, "\(minutes)")
        }
        try await store.admin.execute(
            "update gateway.usage_quarters set cost_nanodollars = 3000 where bucket >= now() - interval '45 minutes'")
        #expect(try await firing(.costGrowth, above: 1.9, minutes: 30))

        let slow = "'p', 'm', 'first_token', 10 * gateway.histogram(10000000), 10"
        try await insert("latency_quarters", "provider, model, measure, histogram, turns", slow, quartersAgo: 2...8)
        try await insert("latency_hours", "provider, model, measure, histogram, turns", slow, quartersAgo: 8...8)
        let quick = "'p', 'm', 'first_token', 10 * gateway.histogram(100000), 10"
        try await insert("latency_quarters", "provider, model, measure, histogram, turns", quick, quartersAgo: 0...0)
        #expect(try await firing(.firstTokenP95, above: 1_000, minutes: 15) == false)
        #expect(try await firing(.firstTokenP95, above: 1_000, minutes: 30))
    }

    @Test("a removal of an account is tried without end, and alerts as if it were dead after 20 attempts")
    func removal() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        try await store.gateway.withTransaction { lease in
            try await lease.execute("select set_config('request.jwt.claim.sub', \(caller.userID.description), true)")
            try await lease.execute("select gateway.request_removal(\(caller.userID.uuid))")
        }
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), isDelivered: false)
        let rules = AlertRules(rules: [Self.rule("dead", .deadJobs, above: 0)])
        for (attempts, firing) in [(20, []), (21, ["dead"])] {
            try await store.admin.execute("update gateway.jobs set attempts = \(attempts)")
            #expect(try await alerts.evaluate(rules, [:]) == firing)
        }
        try await store.admin.execute("update gateway.jobs set attempts = 10000")
        let jobs = try await JobQueue(client: store.gateway, instance: UUID()).exchange([], [.deleteUser: 1], .seconds(30))
        #expect(jobs.map(\.userID) == [caller.userID] && jobs.allSatisfy { !$0.isLastAttempt })
    }

    @Test("the circuit of a model is the worst of all instances, counts once, and the lag of webhooks is not added up")
    func circuits() async throws {
        let store = try await StoreFixture()
        func instance() -> Alerts { Alerts.postgres(client: store.gateway, instance: UUID(), isDelivered: false) }
        let (one, two) = (instance(), instance())
        let (good, bad) = (ModelName(provider: "p", model: "good"), ModelName(provider: "p", model: "bad"))
        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func health() async throws -> [[FigureValue]] { try await figures.health(admin).rows }
        func row(_ model: String, _ state: CircuitState, _ instances: Int64, open: Int64) -> [FigureValue] {
            [.text("p"), .text(model), .text(state.rawValue), .integer(instances), .integer(open)]
        }
        try await one.note([good: .closed, bad: .open])
        try await two.note([good: .closed, bad: .halfOpen])
        #expect(try await health() == [row("bad", .open, 2, open: 2), row("good", .closed, 2, open: 0)])
        let rules = AlertRules(
            rules: [Self.rule("breaker", .openCircuits, above: 0), Self.rule("lag", .webhookLag, above: 100)])
        _ = try await one.evaluate(rules, [.webhookLag: 70])
        #expect(try await two.evaluate(rules, [.webhookLag: 80]) == ["breaker"])
        let measures = try await figures.measures(admin).rows
        #expect(
            measures.contains([.text("open_circuits"), .number("1")]) && measures.contains([.text("webhook_lag_seconds"), .number("80")]))
        try await one.note([good: .closed])
        #expect(try await health().first == row("bad", .halfOpen, 1, open: 1))
        try await two.note([good: .closed, bad: .closed])
        #expect(try await two.evaluate(rules, [.webhookLag: 0]) == [])
        // An instance that is gone reports nothing any more.
        try await store.admin.execute("update gateway.circuit_readings set at = now() - interval '61 seconds'")
        #expect(try await health().isEmpty)
        await #expect(throws: NotAllowed.self) { try await figures.health(.someone()) }
    }

    @Test("the shipped rules are valid, and each mistake of others has a finding")
    func rules() throws {
        let shipped = try Data(contentsOf: Project.root.appendingPathComponent("deploy/alert-rules.json"))
        #expect(AlertRules.read(shipped).findings == [])
        let wrong = #"{"rules":[{"id":"A b","measure":"x","above":-1,"window_minutes":1,"more":1},{"id":"a"}],"other":1}"#
        #expect(AlertRules.read(Array(wrong.utf8)).findings.count >= 6)
    }
}
