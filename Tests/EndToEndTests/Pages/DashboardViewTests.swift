import Foundation
import TestSupport
import Testing

@Suite("The dashboard's views", .paced)
struct DashboardViewTests {
    /// A table of a view, and the query of the rows that it must show, as JSON arrays; from tables that no fold has written.
    private struct ExpectedTable {
        var view: String
        var table: String
        var columns: [String]
        /// How far figures may be from the query's, as a share.
        var near: Double?
        var sql: String

        init(_ view: String, _ table: String, _ columns: [String], near: Double? = nil, _ sql: String) {
            (self.view, self.table, self.columns, self.near, self.sql) = (view, table, columns, near, sql)
        }
    }

    private static let expected = [
        ExpectedTable(
            "domains", "Messages by domain", ["Domain", "Messages", "Abstentions", "Cost"],
            """
            select jsonb_build_array(
                coalesce(initcap(t.domain::text), 'General'), count(distinct l.turn_id) filter (where l.status is not null),
                count(*) filter (where l.domain_source = 'abstained'), sum(l.cost_usd)::text)
            from usage_logs l join turns t on t.id = l.turn_id group by t.domain
            """),
        ExpectedTable(
            "latency", "By model", ["Model", "Turns", "First token p50", "First token p95", "Whole turn p50", "Whole turn p95"], near: 0.05,
            """
            select jsonb_build_array(
                model, count(*), percentile_disc(0.5) within group (order by time_to_first_token_ms),
                percentile_disc(0.95) within group (order by time_to_first_token_ms),
                percentile_disc(0.5) within group (order by duration_ms), percentile_disc(0.95) within group (order by duration_ms))
            from usage_logs where status = 'complete' and provider is not null group by model
            """),
        ExpectedTable(
            "providers", "Calls", ["Provider", "Model", "Calls", "Errors"],
            """
            select jsonb_build_array(provider, model, count(*), count(error_code))
            from usage_logs where finalized_by is not null and provider is not null group by provider, model
            """),
        ExpectedTable(
            "safety", "Messages that showed danger", ["Day", "Category", "Country", "Shown crisis services"],
            """
            select jsonb_build_array(
                to_char(day, 'YYYY-MM-DD"T00:00:00.000Z"'), initcap(category), jurisdiction,
                case when count(*) < 5 then '<5' else count(*)::text end)
            from gateway.crisis_events group by day, category, jurisdiction
            """),
        ExpectedTable(
            "subscriptions", "Active subscriptions", ["Day", "Active", "New purchases", "Revenue"],
            """
            select jsonb_build_array(
                to_char(d, 'YYYY-MM-DD"T00:00:00.000Z"'),
                count(*) filter (where p.occurred_at < d + interval '1 day' and p.period_end > least(d + interval '1 day', now() at time zone 'UTC')),
                count(*) filter (where p.occurred_at::date = d::date),
                coalesce(sum(p.price_usd) filter (where p.occurred_at::date = d::date), 0)::text)
            from generate_series(0, 29) as n
            cross join lateral (select (now() at time zone 'UTC')::date::timestamp - n * interval '1 day') as day (d)
            cross join (
                select occurred_at at time zone 'UTC' as occurred_at, period_end at time zone 'UTC' as period_end, price_usd
                from gateway.billing_figures) as p
            group by d
            """),
        // Nobody is missing from a week that is not over.
        ExpectedTable(
            "usage", "People who come back", ["Week of", "Week 1", "Week 2"],
            """
            select jsonb_build_array(
                to_char(date_trunc('week', now() at time zone 'UTC') - days * interval '1 day', 'YYYY-MM-DD"T00:00:00.000Z"'), first, second)
            from (values (21, '0.0%', '1'), (14, '0.0%', '–'), (0, '–', '–')) as cohort (days, first, second)
            """),
        ExpectedTable(
            "alerts", "Resolved alerts", ["Rule", "Value", "Limit"],
            """
            select jsonb_build_array(upper(left(rule, 1)) || substr(translate(rule, '_.-', '   '), 2), value, threshold)
            from gateway.alerts where resolved_at is not null
            """),
        ExpectedTable(
            "alerts", "Firing alerts", ["Rule", "Limit"],
            """
            select jsonb_build_array(upper(left(rule, 1)) || substr(translate(rule, '_.-', '   '), 2), threshold)
            from gateway.alerts where resolved_at is null
            """),
        ExpectedTable(
            "reports", "Latest reports", ["Reason", "Comment"], "select jsonb_build_array(initcap(reason::text), comment) from reports"),
        ExpectedTable(
            "audit", "Audit log", ["Target", "Reason", "Role"],
            "select jsonb_build_array(target, coalesce(reason, ''), actor_role) from gateway.audit_log"),
    ]

    /// Rows of a view's table, each of which has a link to a list, of calls by default: the values of the first column and numbers of rows.
    private struct Linked {
        var view: String
        var table: String
        var sql: String
        var link = "td.action a"
        /// The heading, the beginning of the caption, and a column.
        var list = ["Calls", "Calls", "Model"]
    }

    private static func calls(_ view: String, _ table: String, by key: String) -> Linked {
        Linked(view: view, table: table, sql: "select jsonb_build_array(\(key), count(*)) from model_calls group by \(key)")
    }

    private static let linked = [
        calls("costs?by=domain", "By domain", by: "initcap(domain::text)"),
        calls("costs?by=user", "By user", by: "left(user_id::text, 8) || '…'"),
        calls("costs", "Over time", by: #"to_char(day, 'YYYY-MM-DD"T00:00:00.000Z"')"#),
        Linked(
            view: "usage", table: "People who come back",
            sql: """
                select jsonb_build_array(to_char(date_trunc('week', min(day)::timestamp), 'YYYY-MM-DD"T00:00:00.000Z"'), count(distinct user_id))
                from model_calls
                """, link: "td.figure a", list: ["People of a week", "Users", "User"]),
        calls("domains", "Messages by domain", by: "initcap(domain::text)"), calls("latency", "By model", by: "model"),
        calls("latency", "By domain", by: "initcap(domain::text)"), calls("providers", "Calls", by: "provider"),
    ]

    /// Events of days that have ended, of stores, and of alerts, and a report.
    static let history = """
        insert into gateway.crisis_events (account_id, day, turn_id, attempt, stage, tier, category, patterns, action, jurisdiction, created_at,
            bucket, is_counted)
        select gen_random_uuid(), (now() at time zone 'UTC')::date - 2, gen_random_uuid(), 1, 'grammar', 2, 'suicide', '{}', 'card',
            case when n > 6 then 'GB' else 'NZ' end, now() - interval '2 days', date_bin('15 minutes', now() - interval '2 days', 'epoch'), true
        from generate_series(1, 8) as n;
        insert into gateway.billing_figures
            (event_number, source, event_id, occurred_at, kind, purchase, store, price_usd, period_start, period_end, renews, will_renew)
        select n, 'revenuecat', n::text, p.at, 'purchase', n::text, 'app_store', 9.99, p.at, p.at + interval '30 days', true, true
        from (values (1000001, 3), (1000002, 3), (1000003, 20)) as o (n, days)
        cross join lateral (
            select ((now() at time zone 'UTC')::date - days + time '12:00') at time zone 'UTC') as p (at);
        select gateway.rebuild_subscription_figures();
        insert into gateway.alerts (rule, measure, severity, threshold, value, started_at, resolved_at)
        values ('tried', 'open_circuits', 'warning', 1, 3, now() - interval '1 hour', now());
        insert into reports (user_id, persona_id, reason, comment)
        select u.id, gen_random_uuid(), 'other', '=1+1, "not" kind' from users u limit 1;
        """

    /// Of two users who began three weeks ago, one came back; one began two weeks ago and did not. They have no other rows.
    private static let cohorts = """
        insert into gateway.retention_weeks (cohort, week, accounts)
        select monday - cohort, monday - week, accounts
        from (values (21, 21, 2), (21, 7, 1), (14, 14, 1)) as w (cohort, week, accounts)
        cross join (select date_trunc('week', now() at time zone 'UTC')::date) as this_week (monday);
        """

    @Test(
        "each view's table has the figures of the ledger, of the events and of the logs", .enabled(if: PageScript.canRun, PageScript.reason)
    )
    func views() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let user = gateway.testUser()
        for (domain, words) in [("fitness", 3), ("fitness", 60), ("mindset", 20)] {
            expectDone(try await user.chat("How do I begin? \(sim(["words": words]))", ["domain": domain]))
        }
        let editor = TestUser(gateway: gateway, role: "operator")
        for action in ["suspend", "unsuspend"] {
            let path = "/api/v1/operator/users/\(user.id)/\(action)"
            #expect(try await editor.send("POST", path, ["reason": "tried \(action)"]).status == 200)
        }
        let rules: [String: Any] = ["rules": [["id": "any-cost", "measure": "cost_usd", "above": 0, "severity": "info"]]]
        let saved = try await editor.send(
            "PUT", "/api/v1/operator/alert-rules", ["body": rules, "reason": "a test"], headers: ["If-Match": "*"])
        #expect(saved.status == 200, "\(saved.text)")
        try await database.wait(forAlert: "any-cost", isFiring: true)
        try await database.fresh.psql(Self.history + Self.cohorts)
        try await compare(Self.expected, Self.linked, database, gateway)
    }

    @Test("errors of turns lead to the calls that ended with them", .enabled(if: PageScript.canRun, PageScript.reason))
    func errors() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let user = gateway.testUser()
        expectDone(try await user.chat("How do I begin? \(sim(["words": 3]))"))
        for script in [["http_error": ["status": 400]], ["cut_after_tokens": 1]] as [[String: Any]] {
            _ = try await user.chat("How do I go on? \(sim(script))")
        }
        let sql = "select jsonb_build_array(error_code, count(*)) from usage_logs where error_code is not null group by error_code"
        try await compare(
            [ExpectedTable("usage", "Errors", ["Code", "Errors"], sql)], [Linked(view: "usage", table: "Errors", sql: sql)], database,
            gateway)
    }

    @Test(
        "the overview has no cost for a model without a price, and names the provider of each model",
        .enabled(if: PageScript.canRun, PageScript.reason))
    func unknownCosts() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        expectDone(try await gateway.testUser().chat("How do I begin? \(sim(["words": 3]))"))
        try await database.fresh.psql(
            """
            insert into usage_logs
            select (jsonb_populate_record(l, jsonb_build_object(
                'turn_id', gen_random_uuid(), 'model', 'unknown', 'cost_usd', null, 'unpriced', 1, 'booked_in', pg_current_xact_id(),
                'booked_at', clock_timestamp()))).*
            from usage_logs l where l.revision = 1
            """)
        try await compare(
            [
                ExpectedTable(
                    "overview", "Cost by model", ["Model", "Turns", "Cost"],
                    """
                    select jsonb_build_array(model, count(distinct turn_id), coalesce(sum(cost_usd)::text, '–'))
                    from usage_logs where finalized_by is not null group by model
                    """),
                ExpectedTable(
                    "overview", "Providers", ["Provider", "Model", "Calls"],
                    """
                    select jsonb_build_array(provider, model, count(*))
                    from usage_logs where finalized_by is not null group by provider, model
                    """),
            ], [], database, gateway)
    }

    /// Compares views with the database.
    private func compare(_ expected: [ExpectedTable], _ linked: [Linked], _ database: Database, _ gateway: Gateway) async throws {
        var tables: [[String: Any]] = []
        for expected in expected {
            let rows = try await database.fresh.psql(expected.sql).split(separator: "\n")
            var table: [String: Any] = [
                "view": expected.view, "table": expected.table, "columns": expected.columns,
                "rows": try rows.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) },
            ]
            table["near"] = expected.near.map { "\($0)" }
            tables.append(table)
        }
        var links: [[String: Any]] = []
        for linked in linked {
            let rows = try await database.fresh.psql(linked.sql).split(separator: "\n")
            links.append([
                "view": linked.view, "table": linked.table, "rows": try rows.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) },
                "link": linked.link, "list": linked.list,
            ])
        }
        let arguments = try [tables, links].map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        try await PageScript.run("views.py", ["http://127.0.0.1:\(gateway.port)", PageScript.operatorToken()] + arguments)
    }

    @Test(
        "costs of more users than an answer has: a part that says so, the total of all, and all in the file",
        .enabled(if: PageScript.canRun, PageScript.reason))
    func manyUsers() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        expectDone(try await gateway.testUser().chat("How do I begin? \(sim(["words": 20]))"))
        try await database.fresh.psql(
            """
            with users as (insert into users (id) select gen_random_uuid() from generate_series(1, 1000) returning account_id)
            insert into usage_logs
            select (jsonb_populate_record(l, jsonb_build_object(
                'account_id', u.account_id, 'turn_id', gen_random_uuid(), 'booked_in', pg_current_xact_id(), 'booked_at', clock_timestamp()))).*
            from users u cross join usage_logs l where l.revision = 1
            """)
        let ledger = try await database.row(
            """
            select sum(cost_usd)::text as cost, count(distinct turn_id) as turns, count(distinct account_id) as users
            from usage_logs where revision = 1
            """)
        #expect(ledger.number("users") == 1001)
        try await PageScript.run(
            "many_users.py",
            [
                "http://127.0.0.1:\(gateway.port)", PageScript.operatorToken(), try #require(ledger["cost"]),
                "\(try #require(ledger.number("turns")))", "\(try #require(ledger.number("users")))",
            ])
    }
}
