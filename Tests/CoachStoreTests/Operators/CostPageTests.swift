import PostgresClient
import Testing

@Suite("Costs by many keys")
struct CostPageTests {
    /// A ledger of some days with each combination of keys, and its rollups.
    private func ledger(from first: String = "2031-03-01", days: Int = 4) async throws -> StoreFixture {
        let store = try await StoreFixture()
        try await store.admin.execute(
            """
            insert into public.usage_logs (
                account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, status, persona_id, domain, tier, provider, model,
                tokens_in, tokens_out, cost_usd, unpriced, booked_at)
            select md5((n % 11)::text)::uuid, d.day, gen_random_uuid(), 1, 1, 1, 'chat', 'owner', 'complete',
                case when n % 7 < 3 then md5((n % 5)::text)::uuid end, case n % 4 when 0 then 'mindset' when 1 then 'fitness' end::public.coaching_domain,
                case n % 3 when 0 then 'paid' else 'free' end, case n % 6 when 5 then 'Two' else 'one' end, case n % 2 when 0 then 'small' else 'Large' end,
                n, 1, case when n % 9 > 0 then n / 1e9 end, (n % 9 = 0)::integer,
                (d.day + interval '1 minute' * (n * 577 % 1440)) at time zone 'UTC'
            from generate_series(0, 599) as n cross join lateral (select \(first)::date + n * \(days) / 600 as day) as d
            """)
        try await store.admin.execute("call gateway.rebuild_rollups()")
        // What was booked beside a transaction that still ran is left to the fold.
        try await store.foldRollups()
        return store
    }

    /// From the quarters of an hour by all keys.
    private func expected(_ groups: Set<String>, _ grain: String, _ tz: String, _ starts: String, _ ends: String) -> String {
        func key(_ group: String, _ column: String) -> String { groups.contains(group) ? column : "null" }
        return """
            select \(key("day", "date_trunc('\(grain)', q.bucket, '\(tz)')"))::timestamptz, \(key("model", "q.model"))::text,
                \(key("provider", "q.provider"))::text, \(key("domain", "q.domain"))::text, \(key("persona", "q.persona_id"))::uuid, null::uuid,
                \(key("tier", "q.tier"))::text, sum(q.turns)::bigint, sum(q.input_tokens)::bigint, null::bigint, sum(q.output_tokens)::bigint,
                case when sum(q.priced_calls) > 0 then sum(q.cost_nanodollars) end::bigint, sum(q.unpriced_turns)::bigint
            from gateway.persona_quarters q
            where q.bucket >= '\(starts)' and q.bucket < '\(ends)' group by 1, 2, 3, 4, 5, 6, 7
            """
    }

    /// The figure and its pages of these sizes are the sums of quarters of an hour.
    private func compare(
        _ store: StoreFixture, _ groups: String, _ grain: String, _ tz: String, _ starts: String, _ ends: String, sizes: [Int]
    ) async throws {
        let period = "'\(starts)', '\(ends)', '{\(groups)}', '\(grain)', '\(tz)'"
        let sums = expected(Set(groups.split(separator: ",").map(String.init)), grain, tz, starts, ends)
        let isByDay = groups.hasPrefix("day")
        let whole = try await store.admin.query(
            Query(
                unsafeSQL: """
                    select * from (\(sums)) as f (day, model, provider, domain, persona, account, tier)
                    order by day, \(isByDay ? "" : "persona,") model collate "C", provider collate "C", domain collate "C", persona, tier collate "C"
                    """)
        ) { rows in (0..<rows.count).map { row in (0..<rows.columnCount).map { rows.text(row, $0) } } }
        #expect(!whole.isEmpty)
        let table = try await store.operatorRows("costs(\(period))")
        #expect(table.count == whole.count && Set(table) == Set(whole), "\(period)")
        guard isByDay || groups.hasPrefix("persona,") else { return }
        for size in sizes {
            var pages: [[String?]] = []
            while true {
                let page = try await store.operatorRows(
                    "\(isByDay ? "cost_page" : "persona_costs")(\(period), \(size), \(StoreFixture.after(pages.last)))")
                pages += page
                if page.count < size { break }
            }
            #expect(pages == whole, "pages of \(size): \(period)")
        }
    }

    @Test("pages of any size, and the whole table, are the sums of the quarters of an hour, whichever rollup they are read from")
    func sums() async throws {
        let store = try await ledger()
        for (groups, grain, tz) in [
            ("day,persona,model", "day", "UTC"), ("day,persona,model,provider", "day", "Asia/Kolkata"),
            ("day,model,domain,tier", "hour", "UTC"), ("day,persona", "week", "Europe/Berlin"),
            ("day,persona,domain", "hour", "Asia/Kathmandu"), ("persona,tier", "day", "UTC"), ("persona,domain", "day", "UTC"),
            ("persona,model", "day", "UTC"), ("persona,domain,tier", "day", "UTC"), ("persona,model,provider,tier", "day", "UTC"),
            ("domain", "day", "UTC"), ("domain,tier", "day", "UTC"), ("", "day", "UTC"),
            // Days and weeks of zones to the east and to the west of UTC, with and without rollups by hours.
            ("day,domain", "day", "Asia/Kolkata"), ("day,tier", "week", "Pacific/Kiritimati"), ("day", "day", "America/St_Johns"),
            ("day,model,tier", "day", "Pacific/Pago_Pago"), ("day,persona,domain,tier", "day", "Asia/Kathmandu"),
        ] {
            // Whole days, and periods that begin and end within hours, or soon after the beginning of the last hour or day.
            for (starts, ends) in [
                ("2031-03-01 00:00+00", "2031-03-05 00:00+00"), ("2031-03-01 10:15+00", "2031-03-04 20:45+00"),
                ("2031-03-01 10:15+00", "2031-03-04 20:15+00"), ("2031-03-01 12:30+00", "2031-03-04 00:15+00"),
            ] {
                try await compare(store, groups, grain, tz, starts, ends, sizes: grain == "week" ? [1, 7, 40, 10_000] : [7, 40, 10_000])
            }
        }
    }

    @Test(
        "so are those of days and hours in which clocks change, and the pages of domains are the whole of them",
        arguments: [
            // Repeats the hour after midnight; changes by half an hour; leaves out the hour after midnight.
            ("America/Havana", "2031-11-01", "day"), ("Australia/Lord_Howe", "2031-10-04", "hour"), ("Africa/Cairo", "2031-04-24", "hour"),
        ])
    func clockChanges(zone: String, first: String, grain: String) async throws {
        let store = try await ledger(from: first, days: 2)
        let (starts, ends) = ("\(first) 08:00+00", try #require(try await store.value("select (\(first)::date + 2)::text || ' 00:00+00'")))
        try await compare(store, "day,domain,tier", grain, zone, starts, ends, sizes: [5, 17])
        let period = "'\(starts)', '\(ends)', '{day,domain}', '\(grain)', '\(zone)'"
        let whole = try await store.operatorRows("domains(\(period)) order by bucket, domain")
        #expect(whole.count > 5)
        for size in [5, 17] {
            var pages: [[String?]] = []
            while true {
                let rows = try await store.operatorRows(
                    """
                    figure_page(\(period), \(size), \(StoreFixture.after(pages.last)), 'domains') as (
                        bucket timestamptz, domain public.coaching_domain, turns bigint, share numeric, confidence numeric, abstentions bigint,
                        first_token_p50 numeric, first_token_p95 numeric, cost bigint, unpriced_turns bigint)
                    order by bucket, domain
                    """)
                // Those up to the last one are left out by the gateway.
                let later = pages.last.flatMap { last in rows.firstIndex(of: last).map { rows[($0 + 1)...] } } ?? rows[...]
                pages += later.prefix(size)
                if later.count < size { break }
            }
            #expect(pages == whole, "pages of \(size): \(period)")
        }
    }

    @Test("so are those of weeks, from which days at both ends are missing, or of which some are too many")
    func weeks() async throws {
        let store = try await ledger(days: 24)
        for groups in ["persona,model", "persona,domain", "persona,tier,persona", "persona", "domain,domain", "day,persona,model"] {
            // The third of March is a Monday. From and to each half of a week, and of a day.
            for (starts, ends) in [
                ("2031-03-03 00:00+00", "2031-03-17 00:00+00"), ("2031-03-05 00:00+00", "2031-03-20 00:00+00"),
                ("2031-03-07 00:00+00", "2031-03-22 00:00+00"), ("2031-03-05 10:15+00", "2031-03-22 20:45+00"),
                ("2031-03-07 20:45+00", "2031-03-20 10:15+00"), ("2031-03-06 12:00+00", "2031-03-07 11:45+00"),
            ] {
                try await compare(store, groups, "week", "Europe/Berlin", starts, ends, sizes: [40])
            }
        }
        let source = try await store.value(
            """
            select (gateway.figure_source(
                'usage', '2031-03-04+00', '2031-03-22 02:00+00', '{persona,model}', 'day', 'UTC', '{calls}')).query
            """)
        #expect(source?.contains("key_weeks") == true && source?.contains("-calls as calls") == true)
    }

    @Test("the first page of personas reads a part of them, and those without a call in the period cost little")
    func personas() async throws {
        let store = try await ledger()
        // Thousands of rows of personas, where the ledger has hundreds.
        try await store.admin.execute(
            """
            insert into gateway.persona_days (day, tier, provider, model, persona_id, calls, turns)
            select d, 'free', 'one', 'small', md5('persona ' || n)::uuid, 1, 1
            from generate_series('2031-03-01'::date, '2031-03-04', '1 day') as d, generate_series(1, 4000) as n
            """)
        try await store.admin.execute(
            """
            insert into gateway.key_weeks (week, key, persona_id, calls)
            select distinct date_trunc('week', d.day::timestamp)::date, 'persona_id', d.persona_id, 1 from gateway.persona_days d
            where d.persona_id is not null on conflict do nothing
            """)
        try await store.admin.execute("vacuum analyze gateway.persona_days")
        let all = "'2031-03-01+00', '2031-03-05+00', '{persona,domain,model,tier}', 'day', 'UTC'"
        let first = try await store.operatorPages("persona_costs(\(all), 2, null)")
        let whole = try await store.operatorPages("persona_costs(\(all), 10000, null)")
        #expect(first * 5 < whole, "\(first) of \(whole)")
        let hour = "'2031-03-02 10:00+00', '2031-03-02 11:00+00', '{persona,model}', 'day', 'UTC'"
        let before = try await store.operatorPages("persona_costs(\(hour), 10000, null)")
        for table in ["key_days", "key_weeks"] {
            let time = table == "key_days" ? "day" : "week"
            try await store.admin.execute(
                Query(
                    unsafeSQL: """
                        insert into gateway.\(table) (\(time), key, persona_id, calls)
                        select '2030-01-07', 'persona_id', md5('outside ' || n)::uuid, 1 from generate_series(1, 20000) as n
                        """))
        }
        try await store.admin.execute("vacuum analyze gateway.key_days, gateway.key_weeks")
        let after = try await store.operatorPages("persona_costs(\(hour), 10000, null)")
        #expect(after < before + 1_000, "\(after), \(before) without them")
    }

    @Test("the first page of many hours reads a part of them")
    func pages() async throws {
        let store = try await ledger()
        let period = "'2031-03-01+00', '2031-03-05+00', '{day,persona,domain,model}', 'hour', 'UTC'"
        let first = try await store.operatorPages("cost_page(\(period), 5, null)")
        let all = try await store.operatorPages("cost_page(\(period), 10000, null)")
        #expect(first * 2 < all, "\(first) of \(all)")
        // Hours without a call before them make it no larger.
        let later = "'2031-01-01+00', '2031-03-05+00', '{day,persona,domain,model}', 'hour', 'UTC'"
        let afterEmpty = try await store.operatorPages("cost_page(\(later), 5, null)")
        #expect(afterEmpty * 2 < all, "\(afterEmpty) of \(all)")
    }
}
