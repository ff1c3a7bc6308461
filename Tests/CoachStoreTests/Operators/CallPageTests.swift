import CoachCore
import CoachStore
import PostgresClient
import TestSupport
import Testing

@Suite("Pages of calls in a large ledger")
struct CallPageTests {
    private static let insert = """
        insert into public.usage_logs (
            account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, status, persona_id, tier, provider, model, booked_at)
        """

    @Test("a page of a persona with a call a day, of a quarter of an hour, and of errors read few of the day's calls")
    func pages() async throws {
        let store = try await StoreFixture()
        // In the order of time, as turns book them.
        try await store.admin.execute(
            Query(
                unsafeSQL: """
                    \(Self.insert)
                    select md5(n::text)::uuid, d, md5(d::text || n)::uuid, 1, 1, 1, 'chat', 'owner', 'complete',
                        md5(case when n = 7000 then 'rare' else 'usual' end)::uuid, 'free', 'one', 'm', d + n * interval '7 seconds'
                    from unnest(array['2031-04-01', '2031-04-02']::date[]) as d cross join generate_series(1, 12000) as n order by d, n
                    """))
        // The judge is asked about one of a hundred messages, and on the second day about the rare persona's.
        try await store.admin.execute(
            Query(
                unsafeSQL: """
                    \(Self.insert)
                    select account_id, day, turn_id, 1, 2, 1, 'judge', 'owner', null, persona_id, 'free', 'second', 'look', booked_at
                    from public.usage_logs l where persona_id = md5('rare')::uuid and day = '2031-04-02'
                        or account_id in (select md5(n::text)::uuid from generate_series(50, 12000, 100) as n)
                    """))
        // One of a hundred calls ends with an error.
        try await store.rewriteLedger(
            """
            update public.usage_logs l set status = 'failed', error_code = case when n = 7100 then 'RARE' else 'USUAL' end
            from generate_series(100, 12000, 100) as n where l.account_id = md5(n::text)::uuid and l.purpose = 'chat'
            """)
        try await store.admin.execute("call gateway.rebuild_rollups()")
        try await store.foldRollups()
        for table in ["public.usage_logs", "gateway.account_usage_days", "gateway.key_days", "gateway.usage_quarters"] {
            try await store.admin.execute(Query(unsafeSQL: "vacuum analyze \(table)"))
        }
        let days = "'2031-04-01+00', '2031-04-03+00'"
        let rare = "calls(\(days), jsonb_build_object('persona_id', md5('rare')::uuid), null, 101)"
        let rows = try await store.operatorRows(rare)
        #expect(rows.map { [$0[0], $0[5]] } == [["2031-04-02", "judge"], ["2031-04-02", "chat"], ["2031-04-01", "chat"]])
        #expect(try await store.operatorPages(rare) < 600)
        for (code, count, pages) in [("RARE", 2, 600), ("USUAL", 101, 2_000), ("*", 101, 2_000), ("NONE", 0, 300)] {
            let errors = "calls(\(days), jsonb_build_object('error_code', '\(code)'), null, 101)"
            #expect(try await store.operatorRows(errors).count == count, "\(code)")
            #expect(try await store.operatorPages(errors) < pages, "\(code)")
        }
        let quarter = "calls('2031-04-01 10:00+00', '2031-04-01 10:15+00', '{}', null, 101)"
        #expect(try await store.operatorRows(quarter).count == 101)
        #expect(try await store.operatorPages(quarter) < 2_000)
        // A page of the whole day, of which nearly all calls fit.
        let hours = "calls('2031-04-01 00:15+00', '2031-04-02 00:00+00', '{}', null, 101)"
        #expect(try await store.operatorRows(hours).count == 101)
        #expect(try await store.operatorPages(hours) < 3_000)
    }

    @Test("the calls of a period of any length are those that began in it, at its edges too, whatever their receipts' time")
    func periods() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 23)
        // A record and a receipt; some without one of them, or booked before or after their day.
        for number in 0..<300 {
            let second = [0, 36_000, 86_399].randomElement(using: &random).map { Int.random(in: -900...900, using: &random) + $0 } ?? 0
            let delay = Int.random(in: 0...3, using: &random) * 600
            let persona = number % 3 == 0 ? "md5('p')::uuid" : "null"
            for revision in [0, 1] where revision == 0 ? number % 10 > 0 : number % 13 != 1 {
                let receipt = revision == 1
                let values = "\(persona), 'free', \(receipt ? "'one', 'm'" : "null, null")"
                try await store.admin.execute(
                    Query(
                        unsafeSQL: """
                            \(Self.insert)
                            select md5('\(number % 17)')::uuid, '2031-05-02', md5('turn \(number)')::uuid, 1, 1, \(revision), 'chat',
                                \(receipt ? "'owner', 'complete'" : "null, null"), \(values),
                                timestamptz '2031-05-02+00' + interval '\(second + revision * delay) seconds'
                            """))
            }
        }
        try await store.admin.execute("call gateway.rebuild_rollups()")
        try await store.foldRollups()
        try await store.admin.execute("analyze public.usage_logs")
        for (starts, ends) in [
            ("05-01 23:45", "05-02 00:15"), ("05-02 00:00", "05-02 00:15"), ("05-02 09:45", "05-02 10:00"), ("05-02 10:00", "05-02 10:15"),
            ("05-02 09:45", "05-02 10:15"), ("05-02 23:45", "05-03 00:00"), ("05-02 23:45", "05-03 00:15"), ("05-02 10:15", "05-02 23:45"),
            ("05-02 00:15", "05-03 00:00"), ("05-01 00:00", "05-04 00:00"), ("05-03 00:00", "05-03 00:15"),
        ] {
            for filter in ["{}", #"{"provider": "one"}"#, "persona"] {
                let argument = filter == "persona" ? "jsonb_build_object('persona_id', md5('p')::uuid)" : "'\(filter)'"
                let began = "greatest('2031-05-02+00', least('2031-05-02 23:59:59.999999+00', min(booked_at)))"
                let expected = try await store.admin.query(
                    Query(
                        unsafeSQL: """
                            select turn_id::text from public.usage_logs \(filter == "persona" ? "where persona_id is not null" : "")
                            group by account_id, turn_id having count(status) > 0 and \(began) >= '2031-\(starts)+00' and \(began) < '2031-\(ends)+00' order by account_id, turn_id
                            """)
                ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
                for size in [7, 1_000] {
                    var found: [String] = []
                    var after = "null"
                    while true {
                        let arguments = "'2031-\(starts)+00', '2031-\(ends)+00', \(argument), \(after), \(size)"
                        let page = try await store.operatorRows("calls(\(arguments))")
                        found += page.compactMap { $0[2] }
                        guard page.count == size, let last = page.last else { break }
                        after = "array[\(last[0...4].map { "'\($0 ?? "")'" }.joined(separator: ", "))]"
                    }
                    #expect(found == expected, "\(starts) to \(ends), \(filter), \(size)")
                }
            }
        }
    }
}
