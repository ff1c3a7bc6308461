import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite("Rollup of billing figures")
struct SubscriptionRollupTests {
    private static let measures = [
        "active", "trials", "mrr", "mrr_priced", "mrr_unpriced", "new_trials", "new_purchases", "conversions", "renewals", "cancellations",
        "churned", "trials_lost", "refunds", "unpriced", "revenue", "refunded",
    ]

    /// All that the rollup says; rows of zeros and none are the same.
    private func contents(_ store: StoreFixture) async throws -> [String?] {
        let sums = Self.measures.map { "coalesce(trim_scale(\($0)::numeric), 0)" }.joined(separator: ", ")
        let zeros = Self.measures.map { "coalesce(\($0), 0) = 0" }.joined(separator: " and ")
        let rollup = Query(
            unsafeSQL: """
                select string_agg(concat_ws('|', is_day, bucket, \(sums)), '/' order by is_day, bucket)
                from gateway.subscription_rollup where not (\(zeros))
                """)
        let changes: Query = """
            select string_agg(c::text, '/' order by c.store, c.purchase, c.at) from gateway.subscription_changes c
            """
        return [try await store.value(rollup), try await store.value(changes)]
    }

    /// A random event of one of a few purchases. Payments and invoices are those of one purchase, as at Stripe.
    private func insertFigure(_ number: Int, _ store: StoreFixture, using random: inout SeededGenerator) async throws {
        let shop = ["app_store", "stripe", "play_store"].randomElement(using: &random) ?? ""
        let kinds = [
            "trial", "purchase", "renewal", "extension", "cancellation", "refund", "refund_reversal", "expiration", "state", "payment",
            "payment_link", "product_change",
        ]
        let kind = kinds.randomElement(using: &random) ?? ""
        let purchase = Int.random(in: 0..<25, using: &random)
        let isOfRevenueCat = kind == "product_change" || Int.random(in: 0..<3, using: &random) == 0
        let isStripe = shop == "stripe" && !isOfRevenueCat
        let source = isOfRevenueCat ? "revenuecat" : ["app_store": "appstore", "play_store": "play"][shop] ?? shop
        let name = isStripe && kind == "refund" ? "pi_\(purchase)" : "p\(purchase)"
        // The payment of an invoice may be known by another event alone.
        let hasPayment = isStripe && (["payment_link", "refund"].contains(kind) || kind == "payment" && number % 2 == 0)
        let payment: String? = hasPayment ? "pi_\(purchase)" : nil
        let invoice: String? = isStripe && kind != "refund" ? "in_\(purchase)" : nil
        let isReplacing = source == "play" && Int.random(in: 0..<8, using: &random) == 0
        let replaces: String? = isReplacing ? "p\(Int.random(in: 0..<25, using: &random))" : nil
        let minutes = Int.random(in: 0..<144_000, using: &random)
        let hours = Int.random(in: -24...720, using: &random)
        let cents: Int? = number % 3 == 0 ? nil : Int.random(in: 1...2000, using: &random) * (kind == "refund" ? -1 : 1)
        let willRenew: Bool? = number % 4 == 0 ? false : nil
        let product = (["monthly", "yearly", nil] as [String?]).randomElement(using: &random) ?? nil
        // A subscriber has some purchases, between which products are changed.
        try await store.admin.execute(
            """
            with subscriber as (
                insert into gateway.subscribers (id, revision, fold_version) overriding system value values (\(purchase / 5), 1, 1)
                on conflict do nothing)
            insert into gateway.billing_events (source, event_id, status, subscriber, environment, body, event, number) overriding system value
            values (\(source), \("e\(number)"), 'folded', \(purchase / 5), 'production', '', '{}', \(number))
            """)
        try await store.admin.execute(
            """
            insert into gateway.billing_figures (
                event_number, source, event_id, occurred_at, kind, purchase, payment, invoice, replaces, store, product, price_usd, period_start,
                period_end, renews, will_renew)
            select \(number), \(source), \("e\(number)"), at, \(kind), \(name), \(payment),
                \(invoice), \(replaces), \(shop), \(product), \(cents)::integer / 100.0, at - interval '1 day',
                at + \(hours)::integer * interval '1 hour', \(number % 7 != 0), \(willRenew)
            from (select now() - interval '100 days' + \(minutes)::integer * interval '1 minute' as at) as t
            """)
        try await store.admin.execute("insert into gateway.unfolded_figures (event_number) values (\(number))")
    }

    @Test("folded event by event or by many, in any order, it is what a rebuild makes of all events")
    func parts() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 12)
        var number = 0
        for round in 0..<40 {
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                number += 1
                try await insertFigure(number, store, using: &random)
            }
            while try await store.value("select (gateway.fold_subscription_figures(3) > 0)::text") == "true" {}
            let folded = try await contents(store)
            try await store.admin.execute("select gateway.rebuild_subscription_figures()")
            #expect(try await contents(store) == folded, "after round \(round), \(number) events")
        }
    }

    @Test("what is not folded yet is said by the time of which the figures are, and one instance folds at a time")
    func behind() async throws {
        let store = try await StoreFixture()
        var random = SeededGenerator(state: 1)
        try await insertFigure(1, store, using: &random)
        let isBehind: Query = "select (gateway.subscription_figures_as_of() < now())::text"
        #expect(try await store.value(isBehind) == "true")
        try await store.admin.withTransaction { lease in
            try await lease.execute("select gateway.lock_subscription_rollup()")
            #expect(try await store.value("select gateway.fold_subscription_figures(10)::text") == nil)
        }
        #expect(try await store.value("select gateway.fold_subscription_figures(10)::text") == "1")
        #expect(try await store.value(isBehind) == "false")
    }
}
