import CoachCore
import CoachStore
import PostgresClient
import TestSupport
import Testing

@Suite("The ledger of a database that was moved to another cluster")
struct MovedLedgerTests {
    @Test("turns are folded though the new cluster's transaction ids are lower, whether or not it folds before", arguments: [false, true])
    func lowerIDs(isFoldedFirst: Bool) async throws {
        let store = try await StoreFixture()
        let turns = store.turns()
        try await turns.talk(.someone(), "Hello")
        try await store.foldRollups()
        // As a restored dump of a cluster that had counted a million more, with a row that was not folded yet.
        try await store.admin.execute(
            "update gateway.rollup_state set watermark = (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000)::text::xid8")
        try await store.admin.execute(
            """
            insert into public.usage_logs
                (account_id, day, turn_id, attempt, call, revision, purpose, tier, finalized_by, status, cost_usd, booked_in)
            select l.account_id, l.day, gen_random_uuid(), 1, 1, 1, 'chat', 'free', 'owner', 'complete', 0.5,
                (s.watermark::text::bigint + 1000)::text::xid8
            from public.usage_logs l cross join gateway.rollup_state s limit 1
            """)
        if isFoldedFirst { _ = try await store.value("select gateway.fold_rollups(100)::text") }
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { _ = try await turns.talk(.someone(), "Hello") } }
            try await group.waitForAll()
        }
        try await store.foldRollups()
        #expect(try await store.count("select sum(turns)::bigint from gateway.usage_days") == 10)
        let notFolded: Query = """
            select count(*) from public.usage_logs l cross join gateway.rollup_state s
            where l.booked_in >= s.watermark and l.booked_at <= s.as_of
            """
        #expect(try await store.count(notFolded) == 0)
    }
}
