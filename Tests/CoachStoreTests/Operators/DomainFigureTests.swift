import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Figures of domains")
struct DomainFigureTests {
    @Test("an attempt without a price counts in its own hour, also when the turn ended in a later one")
    func unpricedAttempt() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let turn = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        try await turns.finish(.complete(turn, of: caller, domain: .fitness, cost: nil))
        try await store.move(turn, to: FigureSample.today.addingTimeInterval(-12 * 3_600))
        // The next attempt, an hour later, has a price.
        try await store.admin.execute(
            """
            insert into public.usage_logs
            select (jsonb_populate_record(l, jsonb_build_object(
                'attempt', 2, 'cost_usd', 0.5, 'unpriced', 0, 'booked_in', pg_current_xact_id(),
                'booked_at', l.booked_at + interval '1 hour'))).*
            from public.usage_logs l where l.turn_id = \(turn.turnID.uuid) and l.revision = 1
            """)
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func rows(_ grain: FigureQuery.Grain) async throws -> [[String]] {
            try await figures.table(admin, .all("domains"), FigureSample.query(["day", "domain"], grain))
                .texts(.all("domains"), ["domain", "turns", "cost_usd", "unpriced_turns"])
        }
        #expect(try await rows(.hour) == [["fitness", "0", "-", "1"], ["fitness", "1", "500000000", "0"]])
        #expect(try await rows(.day) == [["fitness", "1", "500000000", "1"]])
    }
}
