import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite("Latency by domain")
struct DomainLatencyTests {
    /// 2025-12-31, a Wednesday.
    private static let start = Date(timeIntervalSince1970: 1_767_139_200)
    private static let period = start..<start.addingTimeInterval(9 * 86_400)

    /// Turns of random domains and times, of which the rows of the ledger are moved into the period.
    private func talk(_ store: StoreFixture, turns count: Int) async throws {
        var random = SeededGenerator(state: 3)
        let (callers, turns) = ((0..<12).map { _ in Caller.someone() }, store.turns())
        for number in 0..<count {
            let caller = callers[number % callers.count]
            let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
            var receipt = TurnReceipt.complete(
                identity, of: caller, domain: ([.mindset, .fitness, nil] as [Domain?]).randomElement(using: &random) ?? nil)
            let first = Int.random(in: 80..<4_000, using: &random)
            receipt.timeToFirstTokenMilliseconds = first
            receipt.durationMilliseconds = first + Int.random(in: 500..<9_000, using: &random)
            try await turns.finish(receipt)
            let at = Self.start.timeIntervalSince1970 + Double.random(in: 0..<9 * 86_400, using: &random)
            try await store.rewriteLedger(
                """
                update public.usage_logs
                set booked_at = to_timestamp(\(at)::double precision), day = (to_timestamp(\(at)::double precision) at time zone 'UTC')::date
                where turn_id = \(identity.turnID.uuid)
                """)
        }
    }

    /// The same of the rows of the ledger: bucket, domain, turns, and percentiles in milliseconds.
    private func ledger(_ store: StoreFixture, _ query: FigureQuery) async throws -> [[String]] {
        try await store.admin.query(
            """
            select concat_ws('|', to_char(l.bucket at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.000"Z"'), coalesce(l.domain::text, '-'), count(*),
                percentile_disc(0.5) within group (order by l.time_to_first_token_ms),
                percentile_disc(0.95) within group (order by l.time_to_first_token_ms),
                percentile_disc(0.5) within group (order by l.duration_ms))
            from (
                select *, date_trunc(\(query.grain.rawValue), booked_at, \(query.timeZone)) as bucket from public.usage_logs
                where finalized_by is not null and booked_at >= to_timestamp(\(query.period.lowerBound.timeIntervalSince1970)::double precision)
                    and booked_at < to_timestamp(\(query.period.upperBound.timeIntervalSince1970)::double precision)) as l
            group by l.bucket, l.domain order by l.bucket, l.domain
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }.map { $0.split(separator: "|").map(String.init) }
    }

    /// All rows of a figure by pages of some rows.
    private func pages(_ figures: Figures, _ figure: Figure, _ query: FigureQuery, of limit: Int) async throws -> [[FigureValue]] {
        var (rows, page) = ([[FigureValue]](), query)
        page.limit = limit
        repeat {
            let table = try await figures.table(.someone(role: .operator), figure, page)
            rows += table.rows
            page.cursor = table.nextCursor
        } while page.cursor != nil
        return rows
    }

    @Test("is what the rows of the ledger give, by hours, days and weeks of any time zone, and the figures of domains have it, too")
    func grains() async throws {
        let store = try await StoreFixture()
        try await talk(store, turns: 60)
        try await store.foldRollups()
        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        for (grain, zone) in [
            (FigureQuery.Grain.hour, "UTC"), (.day, "UTC"), (.week, "UTC"), (.hour, "Asia/Kolkata"), (.day, "Asia/Kolkata"),
            (.hour, "Europe/Berlin"), (.day, "Europe/Berlin"), (.week, "America/New_York"), (.day, "America/St_Johns"),
            (.week, "Pacific/Kiritimati"),
        ] {
            // Also periods that begin and end within days and hours.
            for edge in [0, 5_400, 6_300] as [TimeInterval] {
                let period = Self.period.lowerBound.addingTimeInterval(edge)..<Self.period.upperBound.addingTimeInterval(-edge)
                let query = FigureQuery(period: period, groups: ["day", "domain"], grain: grain, timeZone: zone)
                let expected = try await ledger(store, query)
                let percentiles = ["first_token_p50_ms", "first_token_p95_ms", "whole_turn_p50_ms"]
                let table = try await figures.table(admin, .all("latency"), query)
                let rows = table.texts(.all("latency"), ["day", "domain", "turns"] + percentiles)
                #expect(rows.map { $0.prefix(3) } == expected.map { $0.prefix(3) }, "\(grain) \(zone) \(edge)")
                for (row, other) in zip(rows, expected) {
                    for (figure, exact) in zip(row.dropFirst(3), other.dropFirst(3)) {
                        let (shown, counted) = (try #require(Double(figure)), try #require(Double(exact)))
                        // Half a bin of the histogram.
                        #expect(abs(shown - counted) <= 0.045 * counted, "\(grain) \(zone) \(edge): \(row) \(other)")
                    }
                }
                let domains = try await figures.table(admin, .all("domains"), query)
                #expect(
                    domains.texts(.all("domains"), ["day", "domain", "turns", "first_token_p50_ms", "first_token_p95_ms"])
                        == rows.map { Array($0.prefix(5)) }, "\(grain) \(zone) \(edge)")
                for (figure, table) in [(Figure.all("latency"), table), (.all("domains"), domains)] {
                    for limit in [2, 40] {
                        #expect(try await pages(figures, figure, query, of: limit) == table.rows, "\(grain) \(zone) \(edge) \(limit)")
                    }
                }
                let provided = FigureQuery(period: period, groups: ["day", "provider", "model"], grain: grain, timeZone: zone)
                let providers = try await figures.table(admin, .all("providers"), provided)
                #expect(!providers.rows.isEmpty)
                #expect(try await pages(figures, .all("providers"), provided, of: 3) == providers.rows, "\(grain) \(zone) \(edge)")
            }
        }
        // A page reads a part of the hours.
        try await store.admin.execute(
            """
            insert into gateway.key_hours (bucket, key, domain, calls, messages)
            select t, 'domain', d, 1, 1
            from generate_series('2025-01-01+00'::timestamptz, '2025-03-31+00', '1 hour') as t,
                unnest(enum_range(null::public.coaching_domain)) as d
            """)
        try await store.admin.execute("vacuum analyze gateway.key_hours")
        let period = "'2025-01-01+00', '2025-03-31+00', '{day,domain}', 'hour', 'UTC'"
        func read(_ limit: Int) async throws -> Int {
            try await store.operatorPages(
                """
                figure_page(\(period), \(limit), null, 'domains') as (
                    day timestamptz, domain public.coaching_domain, turns bigint, share numeric, confidence numeric, abstentions bigint,
                    p50 numeric, p95 numeric, cost bigint, unpriced bigint)
                """)
        }
        let (first, all) = (try await read(5), try await read(5_000))
        #expect(first * 2 < all, "\(first) of \(all)")
    }
}
