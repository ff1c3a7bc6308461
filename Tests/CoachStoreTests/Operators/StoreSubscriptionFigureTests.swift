import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import TestSupport
import Testing

@testable import Webhooks

/// Stripe and Google Play report states, and Stripe names a refund by its payment. RevenueCat may tell of the same purchases.
@Suite("Figures of subscriptions at the stores")
struct StoreSubscriptionFigureTests {
    /// An hour after a midnight 39 days ago, in seconds.
    private let start = (Int64(Date().timeIntervalSince1970) / 86_400 - 39) * 86_400 + 3_600
    private let catalogue = ProductCatalogue(["price_1": ["pro"], "monthly": ["pro"]])

    private func time(_ day: Int64) -> Int64 { start + day * 86_400 }

    func instant(_ day: Int64) throws -> BillingInstant { try #require(BillingInstant(milliseconds: time(day) * 1000)) }

    /// What each day shows, however the deliveries are ordered. A column has the days on which it is not 0.
    func expect(_ deliveries: [BillingDelivery], _ expected: [String: [Int: String]]) async throws {
        let store = try await StoreFixture()
        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let rollups = Rollups.postgres(client: store.gateway)
        let first = Date(timeIntervalSince1970: Double(start - 3_600))
        let query = FigureQuery(
            period: first..<first.addingTimeInterval(50 * 86_400), groups: ["day"], grain: .day, timeZone: "UTC")
        var random = SeededGenerator(state: 7)
        let orders = [
            deliveries, deliveries.reversed(), deliveries.shuffled(using: &random), deliveries.shuffled(using: &random),
        ]
        for (number, order) in orders.enumerated() {
            try await store.admin.execute(
                """
                truncate gateway.billing_figures, gateway.billing_events, gateway.subscriber_ids, gateway.subscribers,
                    gateway.subscriptions, gateway.user_entitlements, gateway.subscription_changes, gateway.subscription_rollup
                """)
            for delivery in order {
                #expect(try await inbox.store(delivery) == .stored)
                // Half of the orders are folded event by event.
                if number % 2 == 0 { _ = try await rollups.fold() }
            }
            _ = try await rollups.fold()
            let table = try await figures.table(admin, .all("subscriptions"), query)
            for (column, days) in expected {
                let values = table.texts(.all("subscriptions"), [column]).map { $0[0] }
                let shown = Dictionary(uniqueKeysWithValues: zip(values.indices, values).filter { !["0", "-"].contains($0.1) })
                #expect(shown == days, "\(column) in order \(number)")
            }
        }
    }

    /// The same value on all days of a range.
    func on(_ days: ClosedRange<Int>, _ value: String) -> [Int: String] {
        Dictionary(uniqueKeysWithValues: days.map { ($0, value) })
    }

    // MARK: Stripe

    private func stripe(_ type: String, on day: Int64, _ object: JSONValue) throws -> BillingDelivery {
        let body: JSONValue = [
            "id": .string("evt_\(UUID())"), "object": "event", "created": .integer(time(day)), "livemode": true, "type": .string(type),
            "data": ["object": object],
        ]
        let intake = StripeEvent.parse(body.bytes, catalogue: catalogue)
        guard case .event(let event) = intake.outcome else {
            Issue.record("\(type): \(intake.outcome)")
            throw CancellationError()
        }
        return BillingDelivery(
            source: .stripe, id: intake.id, type: type, environment: intake.environment, body: [], effect: .event(event),
            price: intake.price)
    }

    func subscription(
        _ name: String, _ change: String, _ status: String, on day: Int64, _ period: ClosedRange<Int64>, isCancelled: Bool = false
    ) throws -> BillingDelivery {
        let item: JSONValue = [
            "current_period_start": .integer(time(period.lowerBound)), "current_period_end": .integer(time(period.upperBound)),
            "price": ["id": "price_1", "product": "prod_1"],
        ]
        return try stripe(
            "customer.subscription.\(change)", on: day,
            [
                "id": .string("sub_\(name)"), "object": "subscription", "customer": .string("cus_\(name)"), "status": .string(status),
                "cancel_at_period_end": .bool(isCancelled), "items": ["data": [item]],
            ])
    }

    /// As since 2025-03-31, without its payment.
    func invoice(_ id: String, of name: String, _ period: ClosedRange<Int64>) throws -> BillingDelivery {
        let line: JSONValue = ["period": ["start": .integer(time(period.lowerBound)), "end": .integer(time(period.upperBound))]]
        return try stripe(
            "invoice.paid", on: period.lowerBound,
            [
                "id": .string(id), "object": "invoice", "amount_paid": 1_000, "currency": "usd", "customer": .string("cus_\(name)"),
                "lines": ["data": [line]], "parent": ["subscription_details": ["subscription": .string("sub_\(name)")]],
            ])
    }

    func invoicePayment(_ payment: String, of invoice: String, on day: Int64) throws -> BillingDelivery {
        try stripe(
            "invoice_payment.paid", on: day,
            ["invoice": .string(invoice), "payment": ["type": "payment_intent", "payment_intent": .string(payment)]])
    }

    func refund(_ payment: String, of name: String, chargedOn day: Int64, on refunded: Int64) throws -> BillingDelivery {
        try stripe(
            "charge.refunded", on: refunded,
            [
                "customer": .string("cus_\(name)"), "payment_intent": .string(payment), "refunded": true, "amount_refunded": 1_000,
                "currency": "usd", "created": .integer(time(day)),
            ])
    }

    @Test("Stripe's states, payments and refunds are counted once for each period, in any order of arrival")
    func stripeEvents() async throws {
        let deliveries = [
            // A trial that converts and renews; the refunds of both payments, the first of which ends nothing.
            try subscription("a", "created", "trialing", on: 0, 0...7), try subscription("a", "updated", "trialing", on: 0, 0...7),
            try subscription("a", "updated", "active", on: 7, 7...22), try invoice("in_1", of: "a", 7...22),
            try invoicePayment("pi_1", of: "in_1", on: 7), try subscription("a", "updated", "active", on: 22, 22...37),
            try invoice("in_2", of: "a", 22...37), try invoicePayment("pi_2", of: "in_2", on: 22),
            try refund("pi_1", of: "a", chargedOn: 7, on: 24), try refund("pi_2", of: "a", chargedOn: 22, on: 26),
            try subscription("a", "updated", "active", on: 27, 22...37), try subscription("a", "deleted", "canceled", on: 28, 22...37),
            // Incomplete until it is paid, in the same second; cancelled.
            try subscription("b", "created", "incomplete", on: 3, 3...18), try invoice("in_3", of: "b", 3...18),
            try subscription("b", "updated", "active", on: 3, 3...18),
            try subscription("b", "updated", "active", on: 10, 3...18, isCancelled: true),
            try subscription("b", "updated", "active", on: 11, 3...18, isCancelled: true),
            try subscription("b", "deleted", "canceled", on: 18, 3...18),
            // No event says which payment was refunded.
            try subscription("c", "created", "active", on: 5, 5...38), try invoice("in_4", of: "c", 5...38),
            try refund("pi_4", of: "c", chargedOn: 5, on: 9),
        ]
        let amount = "10000000000"
        var active = on(3...4, "1").merging(on(5...6, "2")) { $1 }.merging(on(7...8, "3")) { $1 }
        active.merge(on(9...17, "2").merging(on(18...25, "1")) { $1 }) { $1 }
        try await expect(
            deliveries,
            [
                "active": active, "trials": on(0...6, "1"), "new_trials": [0: "1"], "conversions": [7: "1"], "renewals": [22: "1"],
                "new_purchases": [3: "1", 5: "1"], "cancellations": [10: "1"], "refunds": [9: "1", 24: "1", 26: "1"],
                "churned": [9: "1", 18: "1", 26: "1"], "trials_lost": [:], "unpriced": [:], "mrr_unpriced": [:],
                "revenue_usd": [3: amount, 5: amount, 7: amount, 22: amount], "refunded_usd": [9: amount, 24: amount, 26: amount],
            ])
    }

    @Test("a payment that is overdue ends a subscription, and its recovery renews it")
    func overdue() async throws {
        let deliveries = [
            try subscription("d", "created", "active", on: 1, 1...11), try invoice("in_1", of: "d", 1...11),
            try subscription("d", "updated", "past_due", on: 11, 11...21), try subscription("d", "updated", "active", on: 14, 11...21),
            try subscription("d", "updated", "past_due", on: 21, 21...31), try subscription("d", "updated", "unpaid", on: 25, 21...31),
            try subscription("d", "deleted", "canceled", on: 26, 21...31),
        ]
        try await expect(
            deliveries,
            [
                "active": on(1...10, "1").merging(on(14...20, "1")) { $1 }, "new_purchases": [1: "1"], "renewals": [14: "1"],
                "churned": [25: "1"], "unpriced": [14: "1"], "mrr_usd": on(1...10, "30436875000"), "mrr_unpriced": on(14...20, "1"),
            ])
    }

    // MARK: Google Play

    private func play(
        _ token: String, _ state: String, on day: Int64, _ period: ClosedRange<Int64>, isTrial: Bool = false,
        isRefunded: Bool = false, replacing linked: String? = nil
    ) throws -> BillingDelivery {
        func text(_ day: Int64) -> JSONValue { .string(Timestamp(millisecondsSince1970: time(day) * 1000).rfc3339) }
        let item: JSONValue = [
            "productId": "monthly", "expiryTime": text(period.upperBound), "autoRenewingPlan": ["autoRenewEnabled": true],
            "offerPhase": isTrial ? ["freeTrial": .object([])] : ["basePrice": .object([])],
        ]
        let body: JSONValue = [
            "subscriptionState": .string("SUBSCRIPTION_STATE_\(state)"), "startTime": text(period.lowerBound), "lineItems": [item],
            "linkedPurchaseToken": linked.map { .string($0) } ?? .null,
        ]
        let id = "state:\(UUID())"
        let event = try GooglePlayPurchase.parse(
            body.bytes, token: token, isRefunded: isRefunded, id: id, requestedAt: try instant(day), catalogue: catalogue)
        return BillingDelivery(
            source: .play, id: id, type: "subscriptionsv2", environment: .production, body: [], effect: .event(event))
    }

    @Test("Google Play's states count as trials, purchases, renewals, cancellations and ends, in any order of arrival")
    func playStates() async throws {
        let deliveries = [
            // A trial that converts, is renewed after a grace period, and cancelled.
            try play("one", "ACTIVE", on: 0, 0...7, isTrial: true), try play("one", "ACTIVE", on: 2, 0...7, isTrial: true),
            try play("one", "ACTIVE", on: 7, 0...17), try play("one", "ACTIVE", on: 9, 0...17),
            try play("one", "IN_GRACE_PERIOD", on: 17, 0...20), try play("one", "ACTIVE", on: 18, 0...27),
            try play("one", "CANCELED", on: 20, 0...27), try play("one", "EXPIRED", on: 27, 0...27),
            // A purchase that another one replaces.
            try play("two", "ACTIVE", on: 1, 1...31), try play("three", "ACTIVE", on: 12, 12...42, replacing: "two"),
            try play("two", "EXPIRED", on: 13, 1...12),
        ]
        var active = on(1...6, "1").merging(on(7...16, "2")) { $1 }.merging([17: "1"]) { $1 }
        active.merge(on(18...26, "2").merging(on(27...39, "1")) { $1 }) { $1 }
        try await expect(
            deliveries,
            [
                "active": active, "trials": on(0...6, "1"), "new_trials": [0: "1"], "conversions": [7: "1"],
                "renewals": [12: "1", 18: "1"], "new_purchases": [1: "1"], "cancellations": [20: "1"], "churned": [27: "1"],
                "trials_lost": [:], "unpriced": [1: "1", 7: "1", 12: "1", 18: "1"], "revenue_usd": [:],
            ])
    }

    @Test("Google Play's refunds count as such, and end a subscription that is over, whichever of its notices comes first")
    func playRefunds() async throws {
        let deliveries = [
            try play("one", "ACTIVE", on: 0, 0...30), try play("one", "EXPIRED", on: 8, 0...8),
            try play("one", "EXPIRED", on: 9, 0...8, isRefunded: true),
            try play("two", "ACTIVE", on: 1, 1...31), try play("two", "EXPIRED", on: 4, 1...4, isRefunded: true),
            try play("two", "EXPIRED", on: 5, 1...4),
            // Without revocation.
            try play("three", "ACTIVE", on: 2, 2...32), try play("three", "ACTIVE", on: 6, 2...32, isRefunded: true),
        ]
        try await expect(
            deliveries,
            [
                "active": [0: "1", 1: "2", 2: "3", 3: "3"].merging(on(4...7, "2")) { $1 }.merging(on(8...31, "1")) { $1 },
                "churned": [4: "1", 8: "1"], "refunds": [4: "1", 6: "1", 9: "1"], "refunded_usd": [:],
            ])
    }

    @Test("a purchase without end is active, and no part of recurring revenue")
    func lifetime() async throws {
        let event = BillingEvent(
            source: .revenuecat, id: UUID().uuidString, occurredAt: try instant(30), subject: [try #require(SubscriberID("someone"))],
            change: .purchase(
                PurchaseReference(environment: .production, store: .appStore, originalTransaction: "1"), .purchased,
                BillingPeriod(product: "lifetime", renews: false, purchasedAt: try instant(30), expiry: .never)))
        let delivery = BillingDelivery(
            source: .revenuecat, id: event.id, type: "NON_RENEWING_PURCHASE", environment: .production, body: [], effect: .event(event),
            price: Nanodollars(1_000))
        try await expect(
            [delivery],
            ["active": on(30...39, "1"), "new_purchases": [30: "1"], "revenue_usd": [30: "1000"], "mrr_usd": [:], "mrr_unpriced": [:]])
    }
}
