import CoachCore
import JSON
import Testing

@testable import Webhooks

/// Bodies with the fields that Stripe's API sends since 2025-03-31: an invoice names no payment, and a dispute neither a customer nor an invoice.
@Suite("Refunds and disputes of Stripe's payments")
struct StripePaymentTests {
    private static let user = "7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b"
    private static let start: Int64 = 1_767_225_600
    private static let day: Int64 = 86_400

    private func event(_ type: String, on day: Int64, id: String, _ object: JSONValue) throws -> BillingEvent {
        let body: JSONValue = [
            "id": .string(id), "object": "event", "api_version": "2026-10-28.endive", "created": .integer(Self.start + day * Self.day),
            "livemode": true, "type": .string(type), "data": ["object": object],
        ]
        let intake = StripeEvent.parse(body.bytes, catalogue: ProductCatalogue(["price_1": ["pro"]]))
        guard case .event(let event) = intake.outcome else {
            Issue.record("\(type): \(intake.outcome)")
            throw CancellationError()
        }
        return event
    }

    private func subscription(_ id: String = "sub_1", _ change: String = "created", on day: Int64 = 0) throws -> BillingEvent {
        let item: JSONValue = [
            "id": "si_1", "current_period_start": .integer(Self.start), "current_period_end": .integer(Self.start + 30 * Self.day),
            "price": ["id": "price_1", "object": "price", "product": "prod_1"],
        ]
        return try event(
            "customer.subscription.\(change)", on: day, id: "evt_\(id)_\(change)",
            [
                "id": .string(id), "object": "subscription", "customer": "cus_1", "status": "active", "cancel_at": .null,
                "cancel_at_period_end": false, "ended_at": .null, "items": ["object": "list", "data": [item]],
                "metadata": ["user_id": .string(Self.user)],
            ])
    }

    private func invoice(
        _ subscription: String = "sub_1", _ id: String? = nil, from day: Int64 = 0, payments: [String]? = nil
    ) throws -> BillingEvent {
        let id = id ?? "in_\(subscription)"
        let period: JSONValue = ["start": .integer(Self.start + day * Self.day), "end": .integer(Self.start + 30 * Self.day)]
        var invoice: [JSONMember] = [
            JSONMember("id", .string(id)), JSONMember("object", "invoice"), JSONMember("amount_paid", 999),
            JSONMember("customer", "cus_1"), JSONMember("lines", ["object": "list", "data": [["object": "line_item", "period": period]]]),
            JSONMember(
                "parent",
                [
                    "type": "subscription_details", "quote_details": .null,
                    "subscription_details": ["subscription": .string(subscription), "metadata": .object([])],
                ]),
        ]
        if let payments {
            let list = payments.map { id -> JSONValue in
                ["object": "invoice_payment", "payment": ["type": "payment_intent", "payment_intent": .string(id)]]
            }
            invoice.append(JSONMember("payments", ["object": "list", "data": .array(list)]))
        }
        return try event("invoice.paid", on: day, id: "evt_\(id)", .object(invoice))
    }

    private func invoicePayment(
        _ payment: String, of subscription: String = "sub_1", _ invoice: String? = nil, on day: Int64 = 0
    ) throws -> BillingEvent {
        try event(
            "invoice_payment.paid", on: day, id: "evt_inpay_\(payment)",
            [
                "id": "inpay_1", "object": "invoice_payment", "amount_paid": 999, "amount_requested": 999, "currency": "usd",
                "invoice": .string(invoice ?? "in_\(subscription)"), "is_default": true, "livemode": true,
                "payment": ["type": "payment_intent", "payment_intent": .string(payment)], "status": "paid",
            ])
    }

    private func charge(_ payment: String, on day: Int64 = 0, refundedOn refund: Int64? = nil) throws -> BillingEvent {
        let type = refund == nil ? "charge.succeeded" : "charge.refunded"
        return try event(
            type, on: refund ?? day, id: "evt_\(type)_\(payment)",
            [
                "id": .string("ch_\(payment)"), "object": "charge", "amount": 999, "amount_refunded": .integer(refund == nil ? 0 : 999),
                "created": .integer(Self.start + day * Self.day), "currency": "usd", "customer": "cus_1", "metadata": .object([]),
                "payment_intent": .string(payment), "refunded": .bool(refund != nil),
            ])
    }

    private func dispute(_ payment: String, on day: Int64) throws -> BillingEvent {
        try event(
            "charge.dispute.closed", on: day, id: "evt_dp_\(payment)",
            [
                "id": "dp_1", "object": "dispute", "amount": 999, "charge": .string("ch_\(payment)"),
                "created": .integer(Self.start + (day - 1) * Self.day), "currency": "usd", "metadata": .object([]),
                "payment_intent": .string(payment), "reason": "fraudulent", "status": "lost",
            ])
    }

    /// The user's status 20 days after the start; nil when it depends on the order of arrival.
    private func status(_ events: [BillingEvent]) throws -> EntitlementState.Status? {
        let user = try #require(SubscriberID(Self.user))
        let instant = try #require(BillingInstant(milliseconds: (Self.start + 20 * Self.day) * 1000))
        let statuses = Set([events, events.reversed()].map { EntitlementFold($0).state(of: user, at: instant).status })
        return statuses.count == 1 ? statuses.first : nil
    }

    @Test("a lost dispute ends the subscription whose invoice the payment paid")
    func lostDispute() throws {
        let base = [try subscription(), try invoice()]
        #expect(try status(base + [try dispute("pi_1", on: 10)]) == .active, "nothing says whose payment it was")
        #expect(try status(base + [try charge("pi_1"), try dispute("pi_1", on: 10)]) == .refunded)
        #expect(try status(base + [try invoicePayment("pi_1"), try dispute("pi_1", on: 10)]) == .refunded)
        let listed = try invoice(payments: ["pi_0", "pi_1"])
        #expect(listed.subject.map(\.text) == ["stripe:cus_1", "stripe:in_sub_1", "stripe:pi_0", "stripe:pi_1"])
        #expect(try status([try subscription(), try invoice(payments: ["pi_1"]), try dispute("pi_1", on: 10)]) == .refunded)
    }

    @Test("a refund or lost dispute of another payment in the same period does not end the only subscription")
    func unrelatedPayment() throws {
        let base = [try subscription(), try invoice(), try charge("pi_1"), try invoicePayment("pi_1"), try charge("pi_9", on: 5)]
        #expect(try status(base + [try charge("pi_9", on: 5, refundedOn: 10)]) == .active)
        #expect(try status(base + [try dispute("pi_9", on: 10)]) == .active)
        #expect(try status(base + [try charge("pi_1", refundedOn: 10)]) == .refunded)
        #expect(try status(base + [try dispute("pi_1", on: 10)]) == .refunded)
    }

    @Test("the refund of any payment of a period ends it, also after a change in the middle that was charged for by itself")
    func proration() throws {
        let linked = [
            try subscription(), try invoice(), try invoicePayment("pi_1"), try invoice("sub_1", "in_change", from: 10),
            try invoicePayment("pi_2", of: "sub_1", "in_change", on: 10),
        ]
        let named = [
            try subscription(), try invoice(payments: ["pi_1"]), try invoice("sub_1", "in_change", from: 10, payments: ["pi_2"]),
        ]
        for base in [linked, named, linked + [try subscription("sub_1", "updated", on: 12)]] {
            #expect(try status(base) == .active)
            #expect(try status(base + [try charge("pi_1", refundedOn: 15)]) == .refunded)
            #expect(try status(base + [try charge("pi_2", on: 10, refundedOn: 15)]) == .refunded)
            #expect(try status(base + [try dispute("pi_1", on: 15)]) == .refunded)
            #expect(try status(base + [try charge("pi_9", on: 5, refundedOn: 15)]) == .active)
        }
        // The next event is folded with what was stored of those before.
        let stored = try EntitlementFold(parsing: EntitlementFold(linked).json.bytes)
        #expect(stored == EntitlementFold(linked))
    }

    @Test("of several subscriptions the one whose invoice the payment paid ends")
    func several() throws {
        let first = [try subscription(), try invoice(), try invoicePayment("pi_1")]
        let second = [try subscription("sub_2"), try invoice("sub_2"), try invoicePayment("pi_2", of: "sub_2")]
        #expect(try status(first + second + [try dispute("pi_2", on: 10)]) == .active)
        #expect(try status(first + second + [try dispute("pi_2", on: 10), try charge("pi_1", refundedOn: 11)]) == .refunded)
    }

    @Test("a charge without a customer or payment, and an invoice that was paid out of band, have no effect")
    func withoutEffect() {
        for (type, object) in [
            ("charge.succeeded", ["customer": "cus_1", "payment_intent": .null]),
            ("charge.succeeded", ["customer": .null, "payment_intent": "pi_1"]),
            ("invoice_payment.paid", ["invoice": "in_1", "payment": ["type": "payment_record", "payment_record": "pr_1"]]),
        ] as [(String, JSONValue)] {
            let body: JSONValue = [
                "id": "evt_1", "object": "event", "created": .integer(Self.start), "livemode": true, "type": .string(type),
                "data": ["object": object],
            ]
            #expect(StripeEvent.parse(body.bytes, catalogue: ProductCatalogue()).outcome == .ignored(.informational))
        }
    }
}
