import CoachCore
import CoachStore
import PostgresClient
import TestSupport
import Testing

@Suite("Rollups, midnight and clocks")
struct RollupClockTests {
    @Test("a summary that is made after midnight is a call of the next day, and no turn of it", arguments: [false, true])
    func summaryAfterMidnight(isFoldedBetween: Bool) async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        let turns = store.turns()
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await turns.finish(.complete(identity, of: caller))
        if isFoldedBetween { try await store.foldRollups() }
        try await store.admin.execute(
            """
            insert into public.usage_logs select (changed.row).* from (
                select jsonb_populate_record(l, jsonb_build_object(
                    'day', l.day + 1, 'purpose', 'summary', 'call', 2, 'booked_at', l.booked_at + interval '1 day',
                    'booked_in', pg_current_xact_id()::text, 'status', null, 'time_to_first_token_ms', null, 'duration_ms', null)) as row
                from public.usage_logs l where l.turn_id = \(identity.turnID.uuid) and l.finalized_by is not null) changed
            """)
        try await store.foldRollups()
        let days: Query = "select string_agg(turns || ' ' || calls, ', ' order by day) from gateway.usage_days where calls > 0"
        let active: Query = """
            select (select string_agg(active || ' ' || conversations, ', ' order by day) from gateway.activity_days where (active, conversations) <> (0, 0))
                || ' ' || (select count(*) from gateway.conversation_days)
            """
        #expect(try await store.value(days) == "1 1, 0 1")
        #expect(try await store.value(active) == "1 1 1")
        try await store.admin.execute("call gateway.rebuild_rollups()")
        #expect(try await store.value(days) == "1 1, 0 1")
        #expect(try await store.value(active) == "1 1 1")
    }

    @Test("rollups can be made anew where the clocks of the database's time zone change")
    func timeZone() async throws {
        let store = try await StoreFixture()
        try await store.admin.execute(
            """
            insert into public.usage_logs
                (account_id, day, turn_id, attempt, call, revision, purpose, tier, finalized_by, status, cost_usd, booked_at)
            select gen_random_uuid(), (t at time zone 'UTC')::date, gen_random_uuid(), 1, 1, 1, 'chat'::public.usage_purpose, 'free',
                'owner'::public.finalizer, 'complete'::public.turn_status, 0.5, t
            from unnest('{2026-03-29 23:30Z, 2026-10-25 23:30Z, 2026-10-26 00:30Z}'::timestamptz[]) as t
            """)
        try await store.foldRollups()
        try await store.admin.withConnection { lease in
            try await lease.execute("set timezone = 'Europe/Berlin'")
            try await lease.execute("call gateway.rebuild_rollups()")
            try await lease.execute("reset timezone")
        }
        for table in ["usage_quarters", "usage_hours", "usage_days"] {
            #expect(try await store.count(Query(unsafeSQL: "select sum(turns)::bigint from gateway.\(table)")) == 3, "\(table)")
        }
    }

    @Test("after the clock was set back the figures do not say that they have what is booked until a time that has not come yet")
    func clockSetBack() async throws {
        let store = try await StoreFixture()
        try await store.turns().talk(.someone(), "Hello")
        try await store.foldRollups()
        for statement in ["rollup_state set as_of = as_of + interval '1 hour'", "rollup_marks set at = at + interval '1 hour'"] {
            try await store.admin.execute(Query(unsafeSQL: "update gateway.\(statement)"))
        }
        _ = try await Rollups.postgres(client: store.gateway).fold()
        // Not known while a transaction elsewhere in the cluster holds the watermark back.
        #expect(try await store.value("select coalesce(as_of <= clock_timestamp(), true) from gateway.rollup_state") == "t")
        try await store.foldRollups()
        #expect(try await store.value("select as_of <= clock_timestamp() from gateway.rollup_state") == "t")
    }
}
