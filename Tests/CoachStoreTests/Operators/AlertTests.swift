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
        let instances = (0..<3).map { _ in Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: true) }
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
        #expect(jobs == ["resolved", "firing"], "of the first alert nobody has been told yet")
        // A rule that is gone for all fires no more.
        for alerts in instances { _ = try await alerts.evaluate(AlertRules(rules: []), [:]) }
        #expect(try await figures.alerts(admin, true, PageRequest(limit: 10)).rows.isEmpty)
    }

    @Test("the webhook of an alert's beginning never comes after that of its end, also when it is being delivered as the alert ends")
    func deliveries() async throws {
        let store = try await StoreFixture()
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: true)
        let rules = AlertRules(rules: [Self.rule("spool", .spooledReceipts, above: 1)])
        let (queue, lease) = (JobQueue(client: store.gateway, instance: UUID()), Duration.seconds(30))
        func exchange(_ ended: [EndedRun] = []) async throws -> [Job] { try await queue.exchange(ended, [Alerts.delivery: 10], lease) }
        for reading in [2.0, 0] { _ = try await alerts.evaluate(rules, [.spooledReceipts: reading]) }
        let ends = try await exchange()
        #expect(ends.map { $0.payload["state"]?.string } == ["resolved"])
        #expect(try await exchange(ends.map { EndedRun(run: $0.run, result: .done) }) == [])

        _ = try await alerts.evaluate(rules, [.spooledReceipts: 2])
        let beginning = try #require(try await exchange().first)
        #expect(beginning.payload["state"]?.string == "firing")
        _ = try await alerts.evaluate(rules, [.spooledReceipts: 0])
        #expect(try await queue.renew([beginning.run], lease) == [], "its run is cancelled")
        let failed = EndedRun(run: beginning.run, result: .retry(after: .zero, reason: "cancelled"))
        #expect(try await exchange([failed]) == [], "the end waits until that run is over")
        let waiting: Query = """
            select string_agg(concat_ws(' ', j.payload ->> 'state', j.due_at between now() + interval '10 s' and now() + interval '30 s'), ',')
            from gateway.jobs j
            """
        #expect(try await store.value(waiting) == "resolved t")
    }

    @Test("the webhook of an alert on money has decimal text, that of another measure numbers")
    func amounts() async throws {
        let store = try await StoreFixture()
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: true)
        try await store.admin.execute(
            """
            insert into gateway.usage_quarters (bucket, tier, calls, cost_nanodollars)
            values (date_bin('15 minutes', now(), 'epoch'), 'pro', 1, 12000215001)
            """)
        let rules = AlertRules(rules: [Self.rule("cost", .cost, above: 0.00001), Self.rule("spool", .spooledReceipts, above: 0.5)])
        #expect(try await alerts.evaluate(rules, [.spooledReceipts: 1]) == ["cost", "spool"])
        let jobs = try await JobQueue(client: store.gateway, instance: UUID()).exchange([], [Alerts.delivery: 10], .seconds(30))
        let payload = { (rule: String) in jobs.first { $0.payload["rule"]?.string == rule }?.payload }
        #expect(payload("cost")?["value"]?.string == "12.000215001" && payload("cost")?["threshold"]?.string == "0.000010")
        #expect(payload("spool")?["value"]?.number == 1 && payload("spool")?["threshold"]?.number == 0.5)
    }

    @Test("while releases with other rules run, the alerts are those of the newest, also beside one that calls the former function")
    func releases() async throws {
        let store = try await StoreFixture()
        func alerts(_ release: String) -> Alerts {
            Alerts.postgres(client: store.gateway, instance: UUID(), release: release, isDelivered: false)
        }
        let (older, newer) = (alerts("00099"), alerts("00123"))
        let (old, new) = (Self.rule("old", .spooledReceipts, above: 0), Self.rule("new", .spooledReceipts, above: 0))
        func callFormer() async throws -> [String] {
            let rules = #"[{"id": "old", "measure": "spooled_receipts", "above": 0, "window_minutes": 60, "severity": "info"}]"#
            return try await store.gateway.query("select rule from gateway.evaluate_alerts(\(rules)::jsonb, null) as rule") { rows in
                try rows.map { row in try row.value(0) }
            }
        }
        func evaluate(_ alerts: Alerts, _ rule: AlertRule) async throws -> [String] {
            try await alerts.evaluate(AlertRules(rules: [rule]), [.spooledReceipts: 1])
        }
        #expect(try await evaluate(older, old) == ["old"])
        for _ in 0..<2 {
            #expect(try await evaluate(newer, new) == ["new"])
            #expect(try await evaluate(older, old) == ["new"])
            #expect(try await callFormer() == ["new"])
        }
        // Of one release the same instance decides each time.
        let (one, other) = (alerts("00124"), alerts("00124"))
        _ = try await evaluate(one, old)
        let decided = try await evaluate(other, new)
        for _ in 0..<2 {
            #expect(try await evaluate(one, old) == decided)
            #expect(try await evaluate(other, new) == decided)
        }
        // The newer ones are gone.
        try await store.admin.execute(
            "update gateway.instance_readings set at = now() - interval '61 seconds' where measure = 'alert_rules'")
        #expect(try await callFormer() == ["old"])
        #expect(try await evaluate(older, old) == ["old"])
    }

    @Test("each measure is above its threshold when something happened, at rest before, and its alert is resolved when that is over")
    func measures() async throws {
        let store = try await StoreFixture()
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: false)
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
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: false)
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
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: false)
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
        func instance() -> Alerts { Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: false) }
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

    @Test("a threshold of money is a decimal in quotes or a number, another one is a number")
    func thresholds() {
        func threshold(_ measure: String, _ above: String) -> Double? {
            let text = #"{"rules":[{"id":"a","measure":"\#(measure)","above":\#(above)}]}"#
            return AlertRules.read(Array(text.utf8)).rules?.rules.first?.above
        }
        #expect(threshold("cost_usd", #""50""#) == 50 && threshold("cost_usd", #""0.000000001""#) == 1e-9)
        #expect(threshold("cost_usd", "0.5") == 0.5 && threshold("error_share", "0.5") == 0.5)
        #expect(threshold("cost_usd", #""-1""#) == nil && threshold("cost_usd", #""1e3""#) == nil && threshold("cost_usd", "-1") == nil)
        #expect(threshold("error_share", #""0.5""#) == nil)
    }
}
