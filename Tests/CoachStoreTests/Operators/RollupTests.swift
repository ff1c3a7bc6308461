import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite("Rollups")
struct RollupTests {
    @Test("rollups folded in steps, with late rows, corrections and a folder that is killed, equal those made anew from the ledger")
    func rebuild() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 7)
        let callers = (0..<5).map { _ in Caller.someone() }
        try await talk(store, callers, &random)
        // Ended between its work and its commit.
        await #expect(throws: (any Error).self) {
            try await store.admin.withTransaction { lease in
                try await lease.execute("select gateway.fold_rollups(10000)")
                throw CancellationError()
            }
        }
        try await talk(store, callers, &random)
        try await store.foldRollups()
        let folded = try await everything(store)
        try await store.admin.execute("call gateway.rebuild_rollups()")
        #expect(try await everything(store) == folded)
        #expect(folded.count > 100)

        let ledger: Query = """
            select concat_ws('|', count(distinct turn_id) filter (where finalized_by is not null), sum(tokens_in), gateway.to_nanodollars(sum(cost_usd)))
            from public.usage_logs
            """
        for table in [
            "usage_quarters", "usage_hours", "usage_days", "persona_quarters", "persona_days", "account_usage_days", "account_days",
        ] {
            let rollup = Query(
                unsafeSQL: "select concat_ws('|', sum(turns), sum(input_tokens), sum(cost_nanodollars)) from gateway.\(table)")
            #expect(try await store.value(rollup) == store.value(ledger), "\(table)")
        }
        for table in ["key_quarters", "key_hours", "key_days"] {
            for key in ["tier", "model", "domain", "persona_id"] {
                let rollup = Query(
                    unsafeSQL: """
                        select concat_ws('|', sum(turns), sum(input_tokens), sum(cost_nanodollars)) from gateway.\(table) where key = '\(key)'
                        """)
                #expect(try await store.value(rollup) == store.value(ledger), "\(table) \(key)")
            }
        }
    }

    @Test("a rebuild that is broken off after some days leaves turns since then folded, and another one makes the rest")
    func brokenOff() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 17)
        let callers = (0..<5).map { _ in Caller.someone() }
        try await talk(store, callers, &random)
        try await store.foldRollups()
        try await store.admin.execute("delete from gateway.usage_days")
        try await store.admin.execute("update gateway.usage_hours set turns = 7")
        let (pending, asOf) = (
            "select cardinality(pending) from gateway.rollup_state" as Query, "select as_of::text from gateway.rollup_state" as Query
        )
        let today = "(now() at time zone 'UTC')::date"
        try await store.admin.execute("select gateway.begin_rebuild()")
        let (days, former) = (try await store.count(pending), try await store.value(asOf))
        try await store.admin.execute(Query(unsafeSQL: "select gateway.rebuild_day(\(today))"))
        try await store.admin.execute(Query(unsafeSQL: "select gateway.end_rebuild(\(today))"))
        #expect(try await store.count(pending) == days - 1 && days > 2)
        try await talk(store, callers, &random)
        try await eventually("today is folded") {
            _ = try await Rollups.postgres(client: store.gateway).fold()
            let ledger = "select count(distinct turn_id) from public.usage_logs where finalized_by is not null and day = \(today)"
            let folded = "select coalesce(sum(turns), 0) from gateway.usage_days where day = \(today)"
            return try await store.count(Query(unsafeSQL: folded)) == store.count(Query(unsafeSQL: ledger))
        }
        #expect(try await store.value(asOf) == former, "other days are missing")
        try await store.admin.execute("call gateway.rebuild_rollups()")
        #expect(try await store.count(pending) == 0)
        try await store.foldRollups()
        let rebuilt = try await everything(store)

        // As if everything had been folded from the first row on.
        let tables = try await store.admin.query(
            """
            select c.relname::text from pg_class c
            where c.relnamespace = 'gateway'::regnamespace and c.relkind in ('r', 'p') and c.relname ~ '_(quarters|hours|days|weeks)$'
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
        #expect(tables.count > 15)
        for table in tables { try await store.admin.execute(Query(unsafeSQL: "delete from gateway.\(table)")) }
        try await store.admin.execute("update gateway.rollup_state set watermark = '0', as_of = null")
        try await store.foldRollups()
        #expect(try await everything(store) == rebuilt)
    }

    @Test("a conversation that gets a persona later counts in the persona's statistics")
    func laterPersona() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let turns = store.turns()
        let persona = UUID()
        let first = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await turns.finish(.complete(first, of: caller))
        try await store.foldRollups()
        let conversations: Query = "select count(*)::text || ' ' || count(persona_id) from gateway.conversation_days"
        #expect(try await store.value(conversations) == "1 0")
        var request = TurnRequest(message: "Hello again")
        request.conversationID = first.conversationID
        let second = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.complete(second, of: caller))
        try await store.rewriteLedger("update public.usage_logs set persona_id = \(persona) where turn_id = \(second.turnID.uuid)")
        try await store.foldRollups()
        #expect(try await store.value(conversations) == "1 1")
    }

    @Test("rollups by one key are the sums of those by all keys", arguments: ["quarters", "hours", "days", "weeks"])
    func keys(size: String) async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 5)
        try await talk(store, (0..<5).map { _ in Caller.someone() }, &random)
        try await store.rewriteLedger(
            "update public.usage_logs set persona_id = md5(left(turn_id::text, 1))::uuid where left(turn_id::text, 1) < 'a'")
        try await store.admin.execute("call gateway.rebuild_rollups()")
        let sums = ["calls", "turns", "output_tokens", "cost_nanodollars", "priced_calls", "unpriced_turns", "errors", "messages"]
        var keys = ["tier": ["tier"], "model": ["provider", "model"], "domain": ["domain"], "persona_id": ["persona_id"]]
        if size == "weeks" { keys = ["persona_id": ["persona_id"]] }
        if size == "days" || size == "weeks" {
            keys["persona_tier"] = ["tier", "persona_id"]
            keys["persona_model"] = ["provider", "model", "persona_id"]
            keys["persona_domain"] = ["domain", "persona_id"]
        }
        let time = ["days": "day", "weeks": "week"][size] ?? "bucket"
        // The time of a quarter's row.
        let ofQuarter =
            [
                "hours": "date_trunc('hour', bucket, 'UTC')", "days": "(bucket at time zone 'UTC')::date",
                "weeks": "date_trunc('week', bucket at time zone 'UTC')::date",
            ][size] ?? time
        let ofAll = keys.map { key, columns in
            let values = ["tier", "provider", "model", "domain", "persona_id"].map { columns.contains($0) ? "\($0)::text" : "null" }
            let selected = (values + sums.map { "sum(\($0))" }).joined(separator: ", ")
            return """
                select '\(key)', \(ofQuarter), \(selected) from gateway.persona_quarters
                group by \(ofQuarter), \(columns.joined(separator: ", "))
                """
        }.joined(separator: " union all ")
        let ofOne = """
            select key, \(time), tier, provider, model, domain::text, persona_id::text, \(sums.joined(separator: ", "))
            from gateway.key_\(size)
            """
        func compare(_ operation: String) async throws -> Int {
            try await store.count(Query(unsafeSQL: "select count(*) from ((\(ofOne)) \(operation) (\(ofAll))) as t"))
        }
        #expect(try await compare("except all") == 0)
        #expect(try await compare("intersect all") > 20)
    }

    @Test("days detached from the ledger keep their figures, also when the others are made anew from it")
    func retention() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 13)
        let callers = (0..<6).map { _ in Caller.someone() }
        for _ in 0..<3 { try await talk(store, callers, &random) }
        try await store.rewriteLedger(
            """
            do $$
            declare a_day date;
            begin
                for a_day in select distinct day from ledger.usage_logs_other loop
                    execute format('create table ledger.%I (like public.usage_logs including all)', to_char(a_day, '"usage_logs_"YYYYMMDD'));
                    execute format('with l as (delete from ledger.usage_logs_other where day = %L returning *) insert into ledger.%I select * from l',
                        a_day, to_char(a_day, '"usage_logs_"YYYYMMDD'));
                    execute format('alter table public.usage_logs attach partition ledger.%I for values from (%L) to (%L)',
                        to_char(a_day, '"usage_logs_"YYYYMMDD'), a_day, a_day + 1);
                end loop;
            end $$
            """)
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 1)
        let days: Query = "select count(distinct day) from public.usage_logs"
        let all = try await store.count(days)
        try await housekeeping.detachPartitions(0)
        try await store.admin.execute("update gateway.rollup_state set watermark = '0'")
        try await housekeeping.detachPartitions(1)
        #expect(try await store.count(days) == all, "what is not folded stays")
        try await store.admin.execute("call gateway.rebuild_rollups()")
        try await store.foldRollups()
        let folded = try await everything(store)
        try await housekeeping.detachPartitions(1)
        let kept = try await store.count(days)
        #expect(kept < all && kept > 10)
        #expect(try await store.value("select bool_and(day >= (now() at time zone 'UTC')::date - 31) from public.usage_logs") == "t")
        #expect(try await everything(store) == folded)
        try await store.admin.execute("call gateway.rebuild_rollups()")
        #expect(try await everything(store) == folded)
        #expect(try await store.value("select ledger_start > (now() at time zone 'UTC')::date - 33 from gateway.rollup_state") == "t")
        // New turns are folded as before.
        try await talk(store, callers, &random)
        try await store.foldRollups()
        let more = try await everything(store)
        try await store.admin.execute("call gateway.rebuild_rollups()")
        #expect(try await everything(store) == more && more != folded)
    }

    @Test("accounts that were active within a day, a week and a month are those of the ledger, and cohorts keep who came back")
    func activity() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 11)
        try await talk(store, (0..<6).map { _ in .someone() }, &random)
        try await talk(store, (0..<6).map { _ in .someone() }, &random)
        try await store.foldRollups()
        let wrong = try await store.count(
            """
            with ended as (select distinct account_id, day from public.usage_logs where status is not null), counted as (
                select day, active, sum(weekly_change) over (order by day) as weekly, sum(monthly_change) over (order by day) as monthly
                from gateway.activity_days)
            select count(*) from counted c
            where c.active <> (select count(*) from ended e where e.day = c.day)
                or c.weekly <> (select count(distinct e.account_id) from ended e where e.day between c.day - 6 and c.day)
                or c.monthly <> (select count(distinct e.account_id) from ended e where e.day between c.day - 29 and c.day)
            """)
        #expect(wrong == 0)
        let cohorts = try await store.value(
            """
            select (select sum(accounts) from gateway.retention_weeks where cohort = week)
                = (select count(distinct account_id) from public.usage_logs where status is not null)
                and (select sum(accounts) from gateway.retention_weeks)
                = (select count(distinct (account_id, date_trunc('week', day::timestamp))) from public.usage_logs where status is not null)
            """)
        #expect(cohorts == "t")
        let accounts = try await store.value(
            """
            select bool_and(r.accounts = (select count(*) from gateway.account_weeks w where (w.cohort, w.week) = (r.cohort, r.week) and w.is_active))
            from gateway.retention_weeks r
            """)
        #expect(accounts == "t")
    }

    @Test("one instance folds at a time, a row of a transaction that is under way is not passed over, and the figures say how far they are")
    func watermark() async throws {
        let store = try await StoreFixture()
        let (early, late) = (Caller.someone(), Caller.someone())
        let folded: Query = "select coalesce(sum(turns), 0)::integer from gateway.usage_days"
        let begun = try await store.turns().begin(early, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await store.admin.withTransaction { lease in
            // Takes its number before the turn of the other, and is still under way when that is folded.
            try await lease.execute(
                """
                insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, tier, finalized_by, cost_usd)
                select account_id, (now() at time zone 'UTC')::date, \(begun.turnID.uuid), 1, 1, 1, 'chat', 'free', 'owner', 0.5
                from public.users where id = \(early.userID.uuid)
                """)
            try await store.turns().talk(late, "Hello")
            _ = try await lease.query("select gateway.fold_rollups(100)") { rows in try rows.only { row in try row.value(0, as: Int?.self) }
            }
            // This transaction holds the row of the folder: another one does not wait.
            #expect(try await store.value("select gateway.fold_rollups(100)::text") == nil)
        }
        try await store.foldRollups()
        #expect(try await store.count(folded) == 2)
        #expect(try await store.value("select sum(cost_nanodollars) > 500000000 from gateway.usage_days") == "t")
        #expect(try await store.value("select as_of <= clock_timestamp() from gateway.rollup_state") == "t")
        let lag = try await Rollups.postgres(client: store.gateway).lag()
        #expect(try #require(lag) >= .zero)
    }
}
