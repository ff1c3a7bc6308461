import CoachCore
import Foundation
import Testing

/// Purchases at the App Store, of which RevenueCat may tell, too.
extension StoreSubscriptionFigureTests {
    /// An event of a purchase, whose period ends with the last day; without a period its end is not said.
    private func purchase(
        _ name: String, _ event: PurchaseEvent, by source: BillingSource = .appstore, at shop: BillingStore = .appStore, on day: Int64,
        from first: Int64, to last: Int64?, dollars: Int64? = nil, isTrial: Bool = false
    ) throws -> BillingDelivery {
        let period = BillingPeriod(
            product: "monthly", isTrial: isTrial, purchasedAt: try instant(first), expiry: try last.map { Expiry.at(try instant($0)) })
        let reference = PurchaseReference(environment: .production, store: shop, originalTransaction: name)
        let event = BillingEvent(
            source: source, id: UUID().uuidString, occurredAt: try instant(day), subject: [try #require(SubscriberID("user of \(name)"))],
            change: .purchase(reference, event, period))
        return BillingDelivery(
            source: source, id: event.id, type: nil, environment: .production, body: [], effect: .event(event),
            price: dollars.map { Nanodollars($0 * 1_000_000_000) })
    }

    @Test("a purchase of which RevenueCat and its store both tell counts once, as RevenueCat tells it")
    func both() async throws {
        let deliveries = [
            try purchase("a", .purchased, on: 1, from: 1, to: 31, dollars: 9),
            try purchase("a", .renewed, on: 31, from: 31, to: 61, dollars: 9), try purchase("a", .cancelled, on: 33, from: 31, to: 61),
            try purchase("a", .purchased, by: .revenuecat, on: 1, from: 1, to: 31, dollars: 10),
            try purchase("a", .renewed, by: .revenuecat, on: 31, from: 31, to: 61, dollars: 10),
            try purchase("a", .cancelled, by: .revenuecat, on: 33, from: 31, to: 61),
            // The same name at another store is another purchase.
            try purchase("b", .purchased, on: 5, from: 5, to: 35, dollars: 9),
            try purchase("b", .expired(paused: false), on: 35, from: 5, to: 35),
            try purchase("b", .purchased, by: .revenuecat, at: .playStore, on: 6, from: 6, to: 36, dollars: 10),
            // Stripe's refund names the payment alone.
            try subscription("c", "created", "active", on: 8, 8...38), try invoice("in_1", of: "c", 8...38),
            try invoicePayment("pi_1", of: "in_1", on: 8), try refund("pi_1", of: "c", chargedOn: 8, on: 12),
            try purchase("sub_c", .purchased, by: .revenuecat, at: .stripe, on: 8, from: 8, to: 38, dollars: 10),
            try purchase("sub_c", .refunded, by: .revenuecat, at: .stripe, on: 12, from: 8, to: 12, dollars: -10),
        ]
        var active = on(1...4, "1").merging([5: "2", 6: "3", 7: "3"]) { $1 }.merging(on(8...11, "4")) { $1 }
        active.merge(on(12...34, "3").merging([35: "2"]) { $1 }.merging(on(36...39, "1")) { $1 }) { $1 }
        let amount = "10000000000"
        try await expect(
            deliveries,
            [
                "active": active, "new_purchases": [1: "1", 5: "1", 6: "1", 8: "1"], "renewals": [31: "1"], "cancellations": [33: "1"],
                "churned": [12: "1", 35: "1"], "refunds": [12: "1"], "refunded_usd": [12: amount], "unpriced": [:],
                "revenue_usd": [1: amount, 5: "9000000000", 6: amount, 8: amount, 31: amount],
            ])
    }

    @Test("a purchase before the former one ended is a renewal, after a trial a conversion, and after the end a new purchase")
    func upgrades() async throws {
        let deliveries = [
            try purchase("a", .purchased, on: 1, from: 1, to: 31, dollars: 10),
            try purchase("a", .purchased, on: 11, from: 11, to: 41, dollars: 20),
            try purchase("b", .purchased, on: 2, from: 2, to: 9, dollars: 0, isTrial: true),
            try purchase("b", .purchased, on: 5, from: 5, to: 35, dollars: 20),
            try purchase("b", .expired(paused: false), on: 35, from: 5, to: 35),
            try purchase("b", .purchased, on: 37, from: 37, to: 67, dollars: 20),
        ]
        let active = on(1...4, "1").merging(on(5...34, "2")) { $1 }.merging(on(35...36, "1")) { $1 }.merging(on(37...39, "2")) { $1 }
        var recurring = on(1...4, "10145625000").merging(on(5...10, "30436875000")) { $1 }.merging(on(11...34, "40582500000")) { $1 }
        recurring.merge(on(35...36, "20291250000").merging(on(37...39, "40582500000")) { $1 }) { $1 }
        try await expect(
            deliveries,
            [
                "active": active, "trials": on(2...4, "1"), "new_trials": [2: "1"], "conversions": [5: "1"], "renewals": [11: "1"],
                "new_purchases": [1: "1", 37: "1"], "churned": [35: "1"], "mrr_usd": recurring,
                "revenue_usd": [1: "10000000000", 5: "20000000000", 11: "20000000000", 37: "20000000000"],
            ])
    }

    @Test("a reversed refund is taken back when it is reversed, and what is active again was not lost")
    func reversals() async throws {
        let deliveries = [
            // Taken back once.
            try purchase("a", .purchased, on: 1, from: 1, to: 31, dollars: 10),
            try purchase("a", .refunded, on: 5, from: 1, to: 5, dollars: -10),
            try purchase("a", .expired(paused: false), on: 5, from: 1, to: 5),
            try purchase("a", .refundReversed, on: 9, from: 1, to: 31), try purchase("a", .refundReversed, on: 10, from: 1, to: 31),
            // The refund has no price, and the reversal does not say when the period ends.
            try purchase("b", .purchased, on: 2, from: 2, to: 42, dollars: 10), try purchase("b", .refunded, on: 6, from: 2, to: 6),
            try purchase("b", .refundReversed, on: 8, from: 2, to: nil),
            // Of an earlier period: nothing ended.
            try purchase("c", .purchased, on: 3, from: 3, to: 13, dollars: 10),
            try purchase("c", .renewed, on: 13, from: 13, to: 43, dollars: 10),
            try purchase("c", .refunded, on: 15, from: 3, to: 13, dollars: -10),
            try purchase("c", .refundReversed, on: 17, from: 3, to: 13, dollars: 10),
            // Reversed when the period would be over.
            try purchase("d", .purchased, on: 4, from: 4, to: 14, dollars: 10),
            try purchase("d", .refunded, on: 7, from: 4, to: 7, dollars: -10),
            try purchase("d", .refundReversed, on: 20, from: 4, to: 14),
        ]
        var active = [1: "1", 2: "2", 3: "3", 4: "4", 5: "3", 6: "2", 7: "1", 8: "2"]
        active.merge(on(9...30, "3").merging(on(31...39, "2")) { $1 }) { $1 }
        let amount = "10000000000"
        try await expect(
            deliveries,
            [
                "active": active, "churned": [5: "1", 6: "1", 7: "1", 8: "-1", 9: "-1"],
                "refunds": [5: "1", 6: "1", 7: "1", 8: "-1", 9: "-1", 15: "1", 17: "-1", 20: "-1"], "unpriced": [6: "1", 8: "-1"],
                "refunded_usd": [5: amount, 7: amount, 9: "-\(amount)", 15: amount, 17: "-\(amount)", 20: "-\(amount)"],
                "new_purchases": [1: "1", 2: "1", 3: "1", 4: "1"], "renewals": [13: "1"], "mrr_unpriced": [:],
                "revenue_usd": [1: amount, 2: amount, 3: amount, 4: amount, 13: amount],
            ])
    }
}
