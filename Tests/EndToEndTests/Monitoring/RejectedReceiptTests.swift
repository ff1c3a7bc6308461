import TestSupport
import Testing

@Suite("A receipt that the database rejects for good", .paced)
struct RejectedReceiptTests {
    @Test("fails its turn, is counted, and leaves the conversation free")
    func rejected() async throws {
        let database = try await Database.ofItsOwn()
        try await database.fresh.psql(
            """
            create function public.refuse() returns trigger language plpgsql set search_path = '' as $$ begin
                raise exception 'no room' using errcode = '22000';
            end $$;
            create trigger refuse before insert on public.usage_logs for each row when (new.status = 'complete') execute function public.refuse()
            """)
        let gateway = try await Gateway(
            database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
            environment: try StateFolder().state(["COACH_METRICS_LISTEN": "127.0.0.1:0"]))
        let (user, port) = (gateway.testUser(), try await gateway.metricsPort())
        #expect(try await MetricsPage(port: port).sum("coach_refused_receipts_total") == 0)
        let answer = try await user.chat("Hello \(sim(["words": 3]))", timeout: 60)
        #expect(answer.events.last?["type"] == "error", "\(answer.text)")
        try await eventually("the end of the turn") { try await database.turn(of: user.id)["status"] == "failed" }
        try await eventually("the metric") { try await MetricsPage(port: port).sum("coach_refused_receipts_total") == 1 }
        try await database.fresh.psql("drop trigger refuse on public.usage_logs")
        let conversation = try #require(answer.first("start")?["conversation_id"])
        expectDone(try await user.chat("Hello again \(sim(["words": 3]))", ["conversation_id": conversation]))
    }
}
