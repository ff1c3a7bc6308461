import Foundation
import HTTPTestServers
import TestSupport
import Testing

/// Figures are of all users: these tests have a database of their own.
@Suite("Operators' figures", .paced)
struct FigureTests {
    private static let path = "/api/v1/operator/"
    private static let noID = "00000000-0000-0000-0000-000000000000"

    @Test("figures of real turns are those of the ledger, as JSON, CSV and JSON Lines, compared and traced")
    func figures() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let editor = TestUser(gateway: gateway, role: "operator")
        func get(_ path: String, accept: String? = nil) async throws -> Answer {
            try await editor.browser.send("GET", Self.path + path, headers: accept.map { ["Accept": $0] } ?? [:])
        }
        let users = (0..<3).map { _ in gateway.testUser() }
        for user in users { expectDone(try await user.chat("Hello \(sim(["words": 5]))", ["domain": "fitness"])) }
        expectDone(try await users[0].chat("Hello again \(sim(["words": 3]))", ["domain": "mindset"]))
        // Asked of the database, because a user's requests are limited.
        try await eventually("the figures") {
            let state = try await database.row(
                """
                select sum(d.turns) as turns,
                    (select s.as_of from gateway.rollup_state s) >= (select max(l.booked_at) from usage_logs l) as are_whole
                from gateway.usage_days d
                """)
            // The first fold is done in steps; only after the last it is known until when the figures are whole.
            return state.number("turns") == 4 && state.flag("are_whole") == true
        }

        let total = try await get("costs")
        let ledger = try await database.row(
            "select sum(tokens_in)::text as input, sum(tokens_out)::text as output, to_char(sum(cost_usd), 'FM0.000000999') as cost from usage_logs"
        )
        let row = try #require(total.json.objects("data").first)
        #expect(
            row.number("input_tokens").map { "\($0)" } == ledger["input"] && row.number("output_tokens").map { "\($0)" } == ledger["output"]
        )
        #expect(row["cost_usd"] == ledger["cost"], "\(total.text)")
        let asOf = try #require(total.json.object("meta")["as_of"])
        let booked = try await database.row(
            "select max(booked_at) <= '\(asOf)'::timestamptz + interval '1 millisecond' as is_older from usage_logs")
        #expect(booked.flag("is_older") == true, "the figures say that they have all rows: \(asOf)")

        let domains = try await get("costs?group_by=domain,day&grain=hour&tz=Europe/Berlin")
        #expect(domains.json.objects("data").compactMap { $0.number("turns") }.reduce(0, +) == 4, "\(domains.text)")
        #expect(Set(domains.json.objects("data").compactMap { $0["domain"] }) == ["fitness", "mindset"])
        let byUser = try await get("costs?group_by=user", accept: "text/csv")
        let lines = byUser.text.split(separator: "\r\n").map(String.init)
        #expect(lines.first?.hasPrefix("day,model,provider,domain,persona_id,user_id,tier,turns,input_tokens,") == true)
        #expect(lines.count == 4 && users.allSatisfy { user in lines.contains { $0.contains(user.id) } }, "\(byUser.text)")
        let streamed = try await get("domains?group_by=domain", accept: "application/x-ndjson")
        #expect(
            streamed.text.split(separator: "\n").map { JSONObject(String($0))["domain"] } == ["mindset", "fitness"], "\(streamed.text)")

        // Latency by domain in the hours of a time zone, in each form.
        let latency = "latency?group_by=day,domain&grain=hour&tz=Asia/Kolkata&compare=previous"
        let byDomain = try await get(latency).json.objects("data")
        #expect(byDomain.compactMap { $0.number("turns") }.reduce(0, +) == 4 && Set(byDomain.compactMap { $0["domain"] }).count == 2)
        #expect(byDomain.allSatisfy { $0["day"]?.hasSuffix(":30:00.000Z") == true && !$0.isNull("first_token_p95_ms") }, "\(byDomain)")
        let table = try await get(latency, accept: "text/csv").text.split(separator: "\r\n").map(String.init)
        #expect(table.first?.hasPrefix("day,provider,model,domain,turns,previous_turns,") == true && table.count == byDomain.count + 1)
        let objects = try await get(latency, accept: "application/x-ndjson").text.split(separator: "\n").map { JSONObject(String($0)) }
        #expect(objects.map { $0.number("turns") } == byDomain.map { $0.number("turns") })

        // Formats without an envelope say in headers how far they are, and where their rows are.
        for answer in [byUser, streamed] {
            let date = answer.headers["x-figures-as-of"].flatMap {
                try? Date($0, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
            }
            #expect(date.map { abs($0.timeIntervalSinceNow) < 60 } == true, "\(answer.headers)")
            let rows = try await editor.browser.send("GET", try #require(answer.headers["x-figures-trace"]))
            #expect(rows.json.objects("data").count == 4)
        }
        for path in ["subscriptions", "safety/report"] {
            let answer = try await get(path)
            #expect(answer.headers["x-figures-as-of"] == answer.json.object("meta")["as_of"] && answer.headers["x-figures-as-of"] != nil)
            #expect(answer.headers["x-figures-trace"] == nil, "\(path)")
        }

        let compared = try await get("costs?compare=previous&group_by=domain")
        #expect(compared.json.objects("data").allSatisfy { $0.isNull("previous_turns") && $0.number("turns") != nil }, "\(compared.text)")
        let tomorrow = ISO8601DateFormatter.string(
            from: Date(timeIntervalSinceNow: 86_400), timeZone: .gmt, formatOptions: [.withFullDate, .withDashSeparatorInDate])
        let before = try await get("costs?compare=previous&group_by=domain&from=\(tomorrow)&to=\(tomorrow)")
        #expect(before.json.objects("data").map { $0.number("previous_turns") } == [1, 3], "\(before.text)")

        // A period before that does not fit into one answer is refused, not cut.
        let rows = "select '2020-01-01', 'persona_id', gen_random_uuid(), 1 from generate_series(1, 5000)"
        for (more, status) in [(rows, 200), (rows.replacing("5000", with: "1"), 422)] {
            try await database.fresh.psql("insert into gateway.key_days (day, key, persona_id, calls) \(more)")
            let answer = try await get("costs?group_by=persona&compare=previous&from=2020-01-02&to=2020-01-02&limit=5000")
            #expect(answer.status == status, "\(answer.text.prefix(300))")
            if status == 200 { #expect(answer.json.objects("data").count == 5_000) }
            if status == 422 { #expect(answer.error.object("details")["field"] == "compare") }
        }

        // By user it is read for the users of the page, of however many there are.
        try await database.fresh.psql(
            """
            with account as (insert into public.users (id, account_id) select gen_random_uuid(), gen_random_uuid() from generate_series(0, 10000) returning account_id)
            insert into gateway.account_days (account_id, day, calls, turns)
            select a.account_id, d, 1, 7 from (select account_id, row_number() over () as n from account) a
            cross join unnest(array['2020-01-03', '2020-01-04']::date[]) as d where d = '2020-01-03' or n <= 3
            """)
        for groups in ["user", "day,user"] {
            let page = try await get("costs?group_by=\(groups)&compare=previous&from=2020-01-04&to=2020-01-04&limit=2")
            #expect(page.json.objects("data").map { $0.number("previous_turns") } == [7, 7], "\(page.text.prefix(300))")
        }

        let trace = try #require(total.json.object("meta")["trace"])
        let calls = try await editor.browser.send("GET", trace + "&domain=fitness&limit=2")
        #expect(calls.json.objects("data").count == 2 && calls.json.object("pagination").flag("has_next") == true, "\(calls.text)")
        #expect(calls.json.objects("data").allSatisfy { $0["status"] == "complete" && $0["domain"] == "fitness" && $0["content"] == nil })

        let usage = try await get("usage").json.objects("data").last
        #expect(usage?.number("active_users") == 3 && usage?.number("messages") == 4 && usage?.number("monthly_active_users") == 3)
        for path in [
            "latency", "providers", "usage/retention", "latency?group_by=day,domain,model", "errors", "reports", "alerts", "alert-rules",
            "usage?grain=week", "errors?grain=hour&tz=Asia/Kolkata", "latency?from=2026-11-01T10:15:00Z&to=2026-11-01T10:45:00Z",
        ] {
            let answer = try await get(path)
            #expect(answer.status == 200, "\(path): \(answer.text)")
            #expect(try await users[0].browser.send("GET", Self.path + path).errorCode == "AUTH_1003", "\(path)")
        }
    }

    @Test(
        "a wrong parameter is named",
        arguments: [
            ("costs?group_by=message", "group_by"), ("costs?grain=minute", "grain"), ("costs?tz=Mars/Olympus", "tz"),
            ("costs?tz=BST", "tz"), ("costs?tz=GMT%2B3", "tz"), ("calls?model=%00", "model"),
            ("calls?cursor=2026-11-23/\(noID)/\(noID)/1/99999999999", "cursor"), ("prices/diff?from=1&to=99", "to"),
            ("costs?group_by=user&tz=Europe/Berlin", "tz"), ("costs?compare=next", "compare"), ("costs?limit=0", "limit"),
            ("costs?cursor=-1", "cursor"), ("costs?from=x", "from"), ("latency?group_by=day,domain,model&grain=hour", "grain"),
            ("latency?group_by=domain,provider&tz=Europe/Berlin", "tz"), ("usage?grain=hour", "grain"),
            ("usage?group_by=&grain=hour", "grain"),
            ("subscriptions?grain=minute", "grain"), ("subscriptions?tz=BST", "tz"), ("subscriptions?group_by=store", "group_by"),
            ("subscriptions?compare=next", "compare"), ("calls?user_id=x", "user_id"), ("calls?domain=astrology", "domain"),
            ("alerts?state=x", "state"), ("alerts?cursor=99999999999999999999", "cursor"), ("calls?error=maybe", "error"),
            ("usage/retention/users?cohort=x", "cohort"), ("usage/retention/users?week=-1", "week"),
            ("usage/retention/users?cursor=x/0/y", "cursor"),
        ])
    func wrong(path: String, field: String) async throws {
        let editor = TestUser(gateway: try await TestBed.shared().gateway, role: "operator")
        let answer = try await editor.browser.send("GET", Self.path + path)
        #expect(answer.status == 422 && answer.error.object("details")["field"] == field, "\(path): \(answer.text)")
    }

    @Test("an edited rule fires, is on the metrics page, and is told to a webhook with a signature")
    func alerts() async throws {
        let (receiver, database) = (try StoreAPI(), try await Database.ofItsOwn())
        try await receiver.answer("/alerts", "{}")
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: [
                "COACH_ALERT_WEBHOOK_URL": receiver.url + "/alerts", "COACH_ALERT_WEBHOOK_SECRET": "whsec_test",
                "COACH_METRICS_LISTEN": "127.0.0.1:0",
            ])
        let editor = TestUser(gateway: gateway, role: "operator")
        let rules: [String: Any] = ["rules": [["id": "any-cost", "measure": "cost_usd", "above": "0", "severity": "info"]]]
        let saved = try await editor.send("PUT", Self.path + "alert-rules", ["body": rules], headers: ["If-Match": "*"])
        #expect(saved.status == 200, "\(saved.text)")
        expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 3]))"))
        try await eventually(within: .seconds(60), "the webhook") { try await receiver.requests().count == 1 }
        let request = try #require(try await receiver.requests().first)
        #expect(request.headers["x-webhook-signature"]?.hasPrefix("t=") == true, "\(request.headers)")
        let told = JSONObject(request.body).object("data")
        #expect(told["rule"] == "any-cost" && told["threshold"] == "0.000000", "\(request.body)")
        let port = try await gateway.metricsPort()
        try await eventually("the alert on the metrics page") {
            try await MetricsPage(port: port).sum("coach_alert_firing", #"rule="any-cost""#) == 1
        }
        let list = try await editor.browser.send("GET", Self.path + "alerts?state=firing").json.objects("data")
        #expect(list.map { $0["rule"] } == ["any-cost"] && list.first?["severity"] == "info")
    }
}
