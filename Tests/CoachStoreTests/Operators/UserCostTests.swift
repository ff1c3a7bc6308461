import CoachCore
import PostgresClient
import Testing

@Suite("Costs by user, a page at a time")
struct UserCostTests {
    /// All rows, from the rollup itself.
    private func expected(_ groups: Set<String>, _ year: Int, _ grain: String, _ store: StoreFixture) async throws -> [[String?]] {
        func key(_ group: String, _ column: String) -> String { groups.contains(group) ? column : "null" }
        let query = """
            select * from (select \(key("day", "date_trunc('\(grain)', d.day::timestamp at time zone 'UTC', 'UTC')"))::timestamptz, \(key("model", "d.model"))::text,
                \(key("provider", "d.provider"))::text, \(key("domain", "d.domain"))::text, \(key("persona", "d.persona_id"))::uuid, u.id,
                \(key("tier", "d.tier"))::text, sum(d.turns)::bigint, null, null,
                case when sum(d.output_known) > 0 then sum(d.output_tokens) end::bigint,
                case when sum(d.priced_calls) > 0 then sum(d.cost_nanodollars) end::bigint, 0
            from gateway.account_usage_days d left join public.users u using (account_id)
            where d.day between '\(year)-01-01' and '\(year)-01-30' group by 1, 2, 3, 4, 5, 6, 7 having sum(d.calls) > 0
            ) as f (day, model, provider, domain, persona, account, tier)
            order by day, account, model collate "C", provider collate "C", domain collate "C", persona, tier collate "C"
            """
        return try await store.admin.query(Query(unsafeSQL: query)) { rows in
            (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) } }
        }
    }

    @Test(
        "pages of any size are the whole table, with removed users and days without anybody",
        arguments: [
            ("user", 2031), ("day,user", 2032), ("user,model", 2033), ("day,user,provider,tier", 2034), ("domain,persona,user", 2035),
        ])
    func pages(groups: String, year: Int) async throws {
        let store = try await StoreFixture.shared()
        // Seven accounts, two of removed users, and one without a call.
        try await store.admin.execute(
            Query(
                unsafeSQL: """
                    with account as (select n, md5('\(year)-' || n)::uuid as id from generate_series(1, 7) as n),
                        kept as (
                            insert into public.users (id, account_id) select gen_random_uuid(), a.id from account a where n not in (2, 5)),
                        usage as (
                            insert into gateway.account_usage_days (
                                account_id, day, tier, provider, model, domain, persona_id, calls, turns, output_tokens, output_known,
                                cost_nanodollars, priced_calls)
                            select a.id, '\(year)-01-01'::date + d, case part when 0 then 'paid' else 'free' end, case d % 2 when 0 then 'one' end,
                                case part when 1 then 'small' when 2 then 'Large' end, case d % 3 when 0 then 'mindset'::public.coaching_domain end,
                                case part when 2 then md5('persona')::uuid end, case when n = 7 then 0 else d + 1 end, d, n * d, n % 2, n * 10 + d,
                                n % 3
                            from account a cross join generate_series(0, 24) as d cross join generate_series(0, 2) as part where (n + d) % 5 < 2
                            returning *)
                    insert into gateway.account_days (account_id, day, calls, turns, output_tokens, output_known, cost_nanodollars, priced_calls)
                    select u.account_id, u.day, sum(u.calls), sum(u.turns), sum(u.output_tokens), sum(u.output_known), sum(u.cost_nanodollars),
                        sum(u.priced_calls)
                    from usage u group by 1, 2
                    """))
        for grain in ["day", "week"] {
            let period = "'\(year)-01-01+00', '\(year)-01-31+00', '{\(groups)}', '\(grain)', 'UTC'"
            let whole = try await expected(Set(groups.split(separator: ",").map(String.init)), year, grain, store)
            #expect(whole.count >= 5 && whole.contains { $0[5] == nil })
            for size in [1, 2, 3, 7, 1_000] {
                var pages: [[String?]] = []
                while true {
                    let page = try await store.operatorRows("user_costs(\(period), \(size), \(StoreFixture.after(pages.last)))")
                    pages += page
                    if page.count < size { break }
                }
                #expect(pages == whole, "pages of \(size) by \(grain)")
            }
            // Of some users, and of those that are removed.
            let some = whole.compactMap { $0[5] }.first
            for users in [[some], [some, nil], [nil]] {
                let list = users.map { $0.map { "'\($0)'" } ?? "null" }.joined(separator: ", ")
                let rows = try await store.operatorRows("user_costs(\(period), 1000, null, array[\(list)]::uuid[])")
                #expect(rows == whole.filter { users.contains($0[5]) } && !rows.isEmpty)
            }
            #expect(try await store.operatorRows("user_costs(\(period), 5, \(StoreFixture.after(whole.last)))").isEmpty)
        }
    }
}
