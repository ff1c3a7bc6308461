import CoachCore
import Foundation
import Testing

/// What RevenueCat tells late, after a refund, and of another product.
/// The fold of entitlements decides the same (`PurchaseLifeTests`, `ProductChangeTests`).
extension StoreSubscriptionFigureTests {
    private func event(
        _ purchase: String, of user: String? = nil, _ event: PurchaseEvent, on day: Int64, from first: Int64?, to last: Int64,
        product: String = "monthly", dollars: Int64? = nil, isTrial: Bool = false
    ) throws -> BillingDelivery {
        let period = BillingPeriod(
            product: product, isTrial: isTrial, purchasedAt: try first.map { try instant($0) }, expiry: .at(try instant(last)))
        let reference = PurchaseReference(environment: .production, store: .playStore, originalTransaction: purchase)
        return try delivery(.purchase(reference, event, period), of: [user ?? "user of \(purchase)"], on: day, dollars: dollars)
    }

    private func delivery(_ change: BillingChange, of users: [String], on day: Int64, dollars: Int64? = nil) throws -> BillingDelivery {
        let event = BillingEvent(
            source: .revenuecat, id: UUID().uuidString, occurredAt: try instant(day),
            subject: try users.map { try #require(SubscriberID($0)) }, change: change)
        return BillingDelivery(
            source: .revenuecat, id: event.id, type: nil, environment: .production, body: [], effect: .event(event),
            price: dollars.map { Nanodollars($0 * 1_000_000_000) })
    }

    @Test("the expiration of an earlier period that is told late ends nothing, and that of the present one does")
    func lateExpirations() async throws {
        let deliveries = [
            try event("a", .purchased, on: 1, from: 1, to: 11, dollars: 10),
            try event("a", .renewed, on: 11, from: 11, to: 41, dollars: 10),
            try event("a", .expired(paused: false), on: 13, from: 1, to: 11),
            try event("b", .purchased, on: 2, from: 2, to: 5, dollars: 0, isTrial: true),
            try event("b", .renewed, on: 5, from: 5, to: 35, dollars: 10), try event("b", .expired(paused: false), on: 6, from: 2, to: 5),
            // The sender does not say when the expired period began.
            try event("c", .purchased, on: 3, from: 3, to: 13, dollars: 10),
            try event("c", .renewed, on: 13, from: 13, to: 43, dollars: 10),
            try event("c", .expired(paused: false), on: 14, from: nil, to: 13),
            try event("d", .purchased, on: 4, from: 4, to: 14, dollars: 10),
            try event("d", .renewed, on: 14, from: 14, to: 24, dollars: 10),
            try event("d", .expired(paused: false), on: 24, from: 14, to: 24),
            try event("e", .purchased, on: 4, from: 4, to: 14, dollars: 10),
            try event("e", .renewed, on: 14, from: 14, to: 34, dollars: 10),
            try event("e", .expired(paused: false), on: 24, from: nil, to: 24),
        ]
        var active = on(1...2, "1").merging([3: "2", 4: "4"]) { $1 }.merging(on(5...23, "5")) { $1 }
        active.merge(on(24...34, "3").merging(on(35...39, "2")) { $1 }) { $1 }
        try await expect(
            deliveries,
            [
                "active": active, "trials": on(2...4, "1"), "conversions": [5: "1"], "renewals": [11: "1", 13: "1", 14: "2"],
                "churned": [24: "2"], "trials_lost": [:],
            ])
    }

    @Test("an extension after a refund revives nothing until the refund is reversed or the purchase is renewed")
    func extensionsAfterRefunds() async throws {
        let deliveries = [
            try event("a", .purchased, on: 1, from: 1, to: 31, dollars: 10), try event("a", .refunded, on: 5, from: 1, to: 5, dollars: -10),
            try event("a", .extended, on: 6, from: 1, to: 35),
            try event("b", .purchased, on: 2, from: 2, to: 32, dollars: 10), try event("b", .refunded, on: 7, from: 2, to: 7, dollars: -10),
            try event("b", .expired(paused: false), on: 7, from: 2, to: 7), try event("b", .uncancelled, on: 8, from: 2, to: 32),
            try event("b", .renewed, on: 12, from: 12, to: 42, dollars: 10), try event("b", .extended, on: 13, from: 12, to: 50),
            try event("c", .purchased, on: 3, from: 3, to: 33, dollars: 10), try event("c", .refunded, on: 9, from: 3, to: 9, dollars: -10),
            try event("c", .refundReversed, on: 10, from: 3, to: 33), try event("c", .extended, on: 11, from: 3, to: 38),
        ]
        var active = [1: "1", 2: "2", 3: "3", 4: "3", 5: "2", 6: "2", 7: "1", 8: "1", 10: "1", 11: "1"]
        active.merge(on(12...37, "2").merging(on(38...39, "1")) { $1 }) { $1 }
        try await expect(
            deliveries, ["active": active, "renewals": [12: "1"], "churned": [5: "1", 7: "1", 9: "1", 10: "-1"], "trials_lost": [:]])
    }

    @Test("a purchase by which Google Play changes the product continues the former one, in any order of arrival")
    func productChanges() async throws {
        func change(_ purchase: String, of user: String, to product: String?, on day: Int64, from first: Int64, to last: Int64) throws
            -> BillingDelivery
        { try event(purchase, of: user, .productChange(to: product), on: day, from: first, to: last) }
        let deliveries = [
            // At once: the event does not name the product. What is told of the former purchase afterwards ends nothing.
            try event("a1", of: "a", .purchased, on: 1, from: 1, to: 31, dollars: 10),
            try change("a1", of: "a", to: nil, on: 11, from: 1, to: 31),
            try event("a2", of: "a", .purchased, on: 11, from: 11, to: 376, product: "yearly", dollars: 90),
            try event("a1", of: "a", .expired(paused: false), on: 31, from: 1, to: 31),
            // At the end of the period.
            try event("b1", of: "b", .purchased, on: 2, from: 2, to: 12, dollars: 10),
            try change("b1", of: "b", to: "yearly", on: 5, from: 2, to: 12),
            try event("b2", of: "b", .renewed, on: 12, from: 12, to: 377, product: "yearly", dollars: 90),
            // Another product bought later is another purchase, and so is one bought after the announced change was taken back by a renewal.
            try event("c1", of: "c", .purchased, on: 3, from: 3, to: 33, dollars: 10),
            try change("c1", of: "c", to: nil, on: 6, from: 3, to: 33),
            try event("c2", of: "c", .purchased, on: 8, from: 8, to: 38, product: "other", dollars: 10),
            try event("d1", of: "d", .purchased, on: 4, from: 4, to: 14, dollars: 10),
            try change("d1", of: "d", to: "yearly", on: 6, from: 4, to: 14),
            try event("d1", of: "d", .renewed, on: 14, from: 14, to: 44, dollars: 10),
            try event("d2", of: "d", .purchased, on: 16, from: 16, to: 381, product: "yearly", dollars: 90),
            // The two purchases are known to be of one subscriber later.
            try event("e1", of: "anonymous", .purchased, on: 5, from: 5, to: 35, dollars: 10),
            try change("e1", of: "anonymous", to: nil, on: 17, from: 5, to: 35),
            try event("e2", of: "e", .purchased, on: 17, from: 17, to: 382, product: "yearly", dollars: 90),
            try delivery(.identity, of: ["e", "anonymous"], on: 18),
        ]
        var active = [1: "1", 2: "2", 3: "3", 4: "4"].merging(on(5...7, "5")) { $1 }.merging(on(8...15, "6")) { $1 }
        active.merge(on(16...32, "7").merging(on(33...37, "6")) { $1 }.merging(on(38...39, "5")) { $1 }) { $1 }
        try await expect(
            deliveries,
            [
                "active": active, "new_purchases": [1: "1", 2: "1", 3: "1", 4: "1", 5: "1", 8: "1", 16: "1"],
                "renewals": [11: "1", 12: "1", 14: "1", 17: "1"], "churned": [:],
            ])
    }

    @Test("the refund of the first payment of a period ends it, also after a change in the middle that Stripe charged for")
    func refundAfterProration() async throws {
        let deliveries = [
            try subscription("a", "created", "active", on: 0, 0...30), try invoice("in_1", of: "a", 0...30),
            try invoicePayment("pi_1", of: "in_1", on: 0), try invoice("in_2", of: "a", 10...30),
            try invoicePayment("pi_2", of: "in_2", on: 10), try refund("pi_1", of: "a", chargedOn: 0, on: 15),
        ]
        try await expect(
            deliveries, ["active": on(0...14, "1"), "new_purchases": [0: "1"], "renewals": [:], "churned": [15: "1"], "refunds": [15: "1"]])
    }
}
