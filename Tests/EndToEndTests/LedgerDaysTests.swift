import TestSupport
import Testing

@Suite("COACH_LEDGER_DAYS", .paced)
struct LedgerDaysTests {
    @Test("detaches older days of the ledger while the gateway runs; they stay as tables")
    func detached() async throws {
        let database = try await Database.ofItsOwn()
        try await database.fresh.psql(
            """
            create table ledger.usage_logs_20200101 (like public.usage_logs including all);
            select gateway.make_append_only('ledger.usage_logs_20200101');
            alter table public.usage_logs attach partition ledger.usage_logs_20200101 for values from ('2020-01-01') to ('2020-01-02')
            """)
        func isAttached() async throws -> Bool {
            try await !database.rows("select 1 as one from pg_inherits where inhrelid = 'ledger.usage_logs_20200101'::regclass").isEmpty
        }
        // A fold of rollups at the same moment puts the work off by an hour, so another gateway is started then.
        for _ in 1...3 {
            guard try await isAttached() else { break }
            let gateway = try await Gateway(
                database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
                environment: ["COACH_LEDGER_DAYS": "31"])
            try? await eventually(within: .seconds(45), "the detached day") { try await !isAttached() }
            withExtendedLifetime(gateway) {}
        }
        #expect(try await !isAttached())
        let start = try await database.row("select ledger_start::text as day from gateway.rollup_state")
        #expect(start["day"] == "2020-01-02")
    }
}
