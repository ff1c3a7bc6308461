import CoachStore
import PostgresClient
import Testing

@Suite("The tables that figures are read from")
struct FigureSourceTests {
    @Test("are as coarse as the grain, the groups and the time zone allow")
    func sources() async throws {
        let store = try await StoreFixture.shared()
        // A period of whole hours that begins before a change of half an hour and ends after it.
        func source(_ grain: String, _ zone: String, _ groups: [String] = ["day", "model", "tier"]) async throws -> String {
            let text = try await store.value(
                """
                select (gateway.figure_source(
                    'usage', '2026-02-01 13:00+00', '2026-11-01 13:00+00', \(groups)::text[], \(grain), \(zone), null)).query
                """)
            return try #require(text)
        }
        #expect(try await source("hour", "Australia/Lord_Howe") == "(select * from gateway.usage_quarters where true)")
        #expect(try await source("hour", "Europe/Berlin") == "(select * from gateway.usage_hours where true)")
        // Days, with the hours and quarters by which the zone's differ from them.
        let byDay = try await source("day", "Australia/Lord_Howe")
        #expect(["from gateway.usage_days", "from gateway.usage_hours", "from gateway.usage_quarters"].allSatisfy(byDay.contains))
        // One of less than a day, within which clocks change by half an hour.
        let change: Query =
            """
            select (gateway.figure_source(
                'latency', '2026-10-03 13:30+00', '2026-10-03 18:00+00', '{day}', 'hour', 'Australia/Lord_Howe', '{first_token}')).query
            """
        let firstToken = "measure = any ('{first_token}') and turns <> 0"
        #expect(try await store.value(change) == "(select * from gateway.latency_quarters where \(firstToken))")
        let latency: Query =
            """
            select (gateway.figure_source(
                'latency', '2026-02-01+00', '2026-03-01 18:30+00', '{day}', 'hour', 'Asia/Kolkata', '{first_token}')).query
            """
        let shifted = "(select * from gateway.latency_hours where shift = 30 and \(firstToken) and bucket < "
        #expect(try await store.value(latency)?.hasPrefix(shifted) == true)
        #expect(try await source("hour", "UTC", ["day", "provider"]) == "(select * from ledger.key_hours_others where key = 'model')")
    }
}
