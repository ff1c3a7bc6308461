import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import TestSupport
import Testing

@Suite("Figures of subscriptions")
struct SubscriptionFigureTests {
    private static let day: Int64 = 86_400_000
    private static let counts = [
        "active", "trials", "new_trials", "new_purchases", "conversions", "renewals", "cancellations", "churned", "trials_lost", "refunds",
        "unpriced", "mrr_unpriced",
    ]
    /// Midnight of the UTC day, in milliseconds.
    private let today = Int64(Date().timeIntervalSince1970) / 86_400 * 86_400_000

    private func add(
        _ event: PurchaseEvent, _ purchase: String, at: Int64, from: Int64, to: Int64, price: Double? = nil, isTrial: Bool = false,
        sandbox: Bool = false, _ store: StoreFixture
    ) async throws {
        func instant(_ time: Int64) throws -> BillingInstant { try #require(BillingInstant(milliseconds: time)) }
        let change = BillingChange.purchase(
            PurchaseReference(environment: sandbox ? .sandbox : .production, store: .appStore, originalTransaction: purchase), event,
            BillingPeriod(
                product: "monthly", entitlements: ["pro"], isTrial: isTrial, purchasedAt: try instant(from), expiry: .at(try instant(to))))
        let event = BillingEvent(
            source: .revenuecat, id: UUID().uuidString, occurredAt: try instant(at),
            subject: [try #require(SubscriberID("u-\(purchase)"))], change: change)
        _ = try await BillingInbox.postgres(client: store.gateway, includingSandbox: false).store(
            BillingDelivery(
                source: .revenuecat, id: event.id, type: "X", environment: .production, body: [], effect: .event(event),
                price: price.map { Nanodollars(Int64($0 * 1_000_000_000)) }))
    }

    private func query(_ from: Int64, _ to: Int64, _ grain: FigureQuery.Grain = .day, _ zone: String = "UTC", by groups: [String] = ["day"])
        -> FigureQuery
    {
        func date(_ time: Int64) -> Date { Date(timeIntervalSince1970: Double(time) / 1000) }
        return FigureQuery(period: date(from)..<date(to), groups: groups, grain: grain, timeZone: zone)
    }

    @Test("active, trial, conversion, churn, refunds, revenue by day and monthly recurring revenue come from the events")
    func days() async throws {
        let store = try await StoreFixture()
        /// An event some days after the first one of the figures, which is 39 days ago.
        func add(
            _ event: PurchaseEvent, _ purchase: String, on day: Int64, from: Int64, to: Int64, price: Double? = nil, isTrial: Bool = false,
            sandbox: Bool = false, _ store: StoreFixture
        ) async throws {
            func time(_ day: Int64) -> Int64 { today + (day - 39) * Self.day + 3_600_000 }
            try await self.add(
                event, purchase, at: time(day), from: time(from), to: time(to), price: price, isTrial: isTrial, sandbox: sandbox, store)
        }
        // A trial that converts and renews; a lost trial; a refund; an unpriced payment; a sandbox payment.
        try await add(.purchased, "a", on: 0, from: 0, to: 7, price: 0, isTrial: true, store)
        try await add(.renewed, "a", on: 7, from: 7, to: 37, price: 9.99, store)
        try await add(.renewed, "a", on: 37, from: 37, to: 67, price: 9.99, store)
        try await add(.purchased, "b", on: 1, from: 1, to: 8, price: 0, isTrial: true, store)
        try await add(.cancelled, "b", on: 2, from: 1, to: 8, store)
        try await add(.expired(paused: false), "b", on: 8, from: 1, to: 8, store)
        try await add(.purchased, "c", on: 3, from: 3, to: 33, price: 20, store)
        try await add(.refunded, "c", on: 5, from: 3, to: 5, price: -20, store)
        try await add(.expired(paused: false), "c", on: 5, from: 3, to: 5, store)
        try await add(.purchased, "d", on: 36, from: 36, to: 66, store)
        try await add(.purchased, "s", on: 4, from: 4, to: 34, price: 100, sandbox: true, store)
        _ = try await Rollups.postgres(client: store.gateway).fold()

        let (figures, admin, first) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator), today - 39 * Self.day)
        func read(_ query: FigureQuery) async throws -> [[String: String]] {
            let names = ["day"] + Self.counts + ["revenue_usd", "refunded_usd", "mrr_usd"]
            let table = try await figures.table(admin, .all("subscriptions"), query)
            #expect(try #require(table.asOf).timeIntervalSinceNow > -60)
            return table.texts(.all("subscriptions"), names).map { Dictionary(uniqueKeysWithValues: zip(names, $0)) }
        }
        let days = try await read(query(first, first + 60 * Self.day))
        let midnights = (0..<40).map { number -> String in
            Timestamp(Date(timeIntervalSince1970: Double(first + Int64(number) * Self.day) / 1000)).rfc3339
        }
        #expect(days.compactMap { $0["day"] } == midnights, "no day in the future")
        func expect(_ day: Int, _ expected: [String: String], sourceLocation: SourceLocation = #_sourceLocation) {
            for (name, value) in expected { #expect(days[day][name] == value, "\(day): \(name)", sourceLocation: sourceLocation) }
        }
        expect(0, ["trials": "1", "new_trials": "1", "active": "0", "mrr_usd": "-"])
        expect(1, ["trials": "2"])
        expect(2, ["cancellations": "1"])
        expect(3, ["new_purchases": "1", "active": "1"])
        expect(4, ["active": "1", "revenue_usd": "0"])
        expect(5, ["refunds": "1", "refunded_usd": "20000000000", "churned": "1", "active": "0"])
        let monthly = "\(Int64((9.99 * 30.436875 / 30 * 1_000_000_000).rounded()))"
        expect(7, ["trials": "1", "conversions": "1", "active": "1", "revenue_usd": "9990000000", "mrr_usd": monthly])
        expect(8, ["trials_lost": "1", "trials": "0", "churned": "0"])
        expect(36, ["unpriced": "1", "mrr_unpriced": "1", "active": "2"])
        expect(37, ["renewals": "1", "active": "2"])
        expect(39, ["active": "2"])
        // The whole period in one row: sums, and what is active at its end.
        let whole = try await read(query(first, first + 60 * Self.day, by: []))
        #expect(whole.count == 1 && whole[0]["day"] == "-" && whole[0]["revenue_usd"] == "39980000000" && whole[0]["active"] == "2")
        #expect(whole[0]["churned"] == "1" && whole[0]["trials_lost"] == "1" && whole[0]["cancellations"] == "1")
        await #expect(throws: NotAllowed.self) { try await figures.table(.someone(), .all("subscriptions"), query(first, today)) }
    }

    /// The same of the stored events, each bucket for itself: what happened in it, and the state of each purchase at its end.
    private func events(_ store: StoreFixture, from: Double, to: Double) async throws -> String? {
        try await store.value(
            """
            with f as (select * from gateway.billing_figures where occurred_at < to_timestamp(\(to)::double precision)),
            bucket as (select * from f where occurred_at >= to_timestamp(\(from)::double precision)),
            state as (
                select distinct on (purchase) * from f where kind <> 'cancellation' order by purchase, occurred_at desc)
            select concat_ws('|',
                (select count(*) from state where kind in ('purchase', 'renewal') and period_end >= to_timestamp(\(to)::double precision)),
                (select count(*) from state where kind = 'trial' and period_end >= to_timestamp(\(to)::double precision)),
                (select count(*) from bucket where kind = 'trial'), (select count(*) from bucket where kind = 'cancellation'),
                (select count(*) from bucket where kind = 'refund'),
                (select count(*) from bucket where kind in ('purchase', 'renewal', 'refund') and price_usd is null),
                (select coalesce(sum(price_usd), 0) * 1000000000 from bucket where kind in ('purchase', 'renewal'))::bigint,
                (select -coalesce(sum(price_usd), 0) * 1000000000 from bucket where kind = 'refund')::bigint)
            """)
    }

    @Test("by hours, days and weeks of any time zone they are what the events of each bucket give")
    func grains() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 5)
        let (hour, first) = (Int64(3_600_000), today - 12 * Self.day)
        for number in 0..<25 {
            var time = first - 3 * Self.day + Int64.random(in: 0..<9 * Self.day, using: &random)
            func add(_ event: PurchaseEvent, for hours: ClosedRange<Int64>, price: Double?, isTrial: Bool = false) async throws {
                let end = time + Int64.random(in: hours, using: &random) * hour + 1_234
                try await self.add(event, "p\(number)", at: time, from: time, to: end, price: price, isTrial: isTrial, store)
                time = end
            }
            if number % 3 == 0 { try await add(.purchased, for: 5...40, price: 0, isTrial: true) }
            try await add(number % 3 == 0 ? .renewed : .purchased, for: 10...90, price: number % 5 == 0 ? nil : Double(number) + 0.5)
            if number % 4 == 0 {
                let cancelled = time - 2 * hour
                try await self.add(.cancelled, "p\(number)", at: cancelled, from: cancelled, to: time, store)
            } else if number % 4 == 1 {
                try await add(.renewed, for: 10...90, price: Double(number))
            } else if number % 4 == 2 {
                time -= hour
                try await self.add(.refunded, "p\(number)", at: time, from: time, to: time, price: -1.25, store)
            }
        }
        _ = try await Rollups.postgres(client: store.gateway).fold()
        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        for (grain, zone) in [
            (FigureQuery.Grain.hour, "UTC"), (.day, "UTC"), (.week, "UTC"), (.hour, "Asia/Kolkata"), (.day, "Asia/Kolkata"),
            (.day, "Europe/Berlin"), (.week, "America/New_York"),
        ] {
            // Neither begins nor ends with a bucket.
            let (from, to) = (first + 5_400_000, today - 4_500_000)
            let table = try await figures.table(admin, .all("subscriptions"), query(from, to, grain, zone))
            let names = ["active", "trials", "new_trials", "cancellations", "refunds", "unpriced", "revenue_usd", "refunded_usd"]
            let rows = table.texts(.all("subscriptions"), names)
            let starts = table.rows.compactMap { row -> Double? in
                if case .time(let time) = row[0] { time.date.timeIntervalSince1970 } else { nil }
            }
            try #require(starts.count == rows.count && rows.count > 1)
            for (index, row) in rows.enumerated() {
                let start = max(starts[index], Double(from) / 1000)
                let end = index + 1 < rows.count ? starts[index + 1] : Double(to) / 1000
                #expect(try await events(store, from: start, to: end) == row.joined(separator: "|"), "\(grain) \(zone) \(index)")
                let bucket = try await store.value(
                    """
                    select extract(epoch from date_trunc(\(grain.rawValue), to_timestamp(\(start)::double precision), \(zone)))::double precision
                    """)
                #expect(bucket.flatMap(Double.init) == starts[index], "\(grain) \(zone)")
            }
        }
    }
}
