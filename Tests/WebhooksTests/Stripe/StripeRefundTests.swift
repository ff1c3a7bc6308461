import CoachCore
import JSON
import Testing

@testable import Webhooks

@Suite("Refunds and disputes of Stripe's subscriptions")
struct StripeRefundTests: StripeBench {
    @Test("a full refund and a lost dispute end the customer's only subscription; a partial refund and a won dispute do not")
    func refunds() {
        let created = [checkout(), parse("customer.subscription.created", subscription("active"), id: "evt_1")]
        let refund = parse("charge.refunded", ["customer": "cus_1", "refunded": true], id: "evt_4", at: Self.start + Self.day)
        #expect(state(created + [refund], at: Self.start + 2 * Self.day)?.status == .refunded)
        #expect(parse("charge.refunded", ["customer": "cus_1", "refunded": false]).outcome == .ignored(.informational))
        let charge = parse("charge.succeeded", ["customer": "cus_1", "payment_intent": "pi_1"], id: "evt_2")
        let dispute = parse("charge.dispute.closed", ["payment_intent": "pi_1", "status": "lost"], id: "evt_5", at: Self.start + Self.day)
        #expect(state(created + [charge, dispute], at: Self.start + 2 * Self.day)?.status == .refunded)
        #expect(parse("charge.dispute.closed", ["payment_intent": "pi_1", "status": "won"]).outcome == .ignored(.informational))
        let second = parse("customer.subscription.created", subscription("active", ["id": "sub_2"]), id: "evt_6")
        #expect(state(created + [second, refund], at: Self.start + 2 * Self.day)?.isActive == true)
    }

    @Test("a refund or lost dispute of a payment for another period does not end the subscription")
    func otherPayments() {
        var events = [checkout(), parse("customer.subscription.created", subscription("active"), id: "evt_1")]
        events.append(parse("invoice.paid", invoice(900, payment: "pi_2"), id: "evt_2", at: Self.start + 30 * Self.day))
        func ended(_ type: String, payment: String, created: Int64, on day: Int64) -> Bool {
            let charge: JSONValue = [
                "customer": "cus_1", "payment_intent": .string(payment), "refunded": true, "created": .integer(created),
            ]
            let dispute: JSONValue = ["payment_intent": .string(payment), "status": "lost", "created": .integer(created)]
            let event = parse(type, type == "charge.refunded" ? charge : dispute, id: "evt_7", at: Self.start + day * Self.day)
            let paid = parse("charge.succeeded", charge, id: "evt_6", at: created)
            return state(events + [paid, event], at: Self.start + (day + 1) * Self.day)?.status == .refunded
        }
        for type in ["charge.refunded", "charge.dispute.closed"] {
            #expect(ended(type, payment: "pi_2", created: Self.start + 30 * Self.day, on: 40))
            #expect(!ended(type, payment: "pi_1", created: Self.start + 35 * Self.day, on: 40))
        }
        // Without payment ids in invoices, the time of the payment decides.
        events[2] = parse("invoice.paid", invoice(900), id: "evt_2", at: Self.start + 30 * Self.day)
        #expect(!ended("charge.dispute.closed", payment: "pi_1", created: Self.start + 20 * Self.day, on: 40))
        #expect(ended("charge.dispute.closed", payment: "pi_2", created: Self.start + 35 * Self.day, on: 40))
    }

    @Test("a later state does not undo a refund, a period that was paid for after it does")
    func stateAfterRefund() {
        let created = [checkout(), parse("customer.subscription.created", subscription("active"), id: "evt_1")]
        let refund = parse("charge.refunded", ["customer": "cus_1", "refunded": true], id: "evt_4", at: Self.start + Self.day)
        let updated = "customer.subscription.updated"
        for seconds in [Self.start + Self.day, Self.start + 2 * Self.day] {
            let edited = parse(updated, subscription("active", ["metadata": [:]]), id: "evt_5", at: seconds)
            #expect(state(created + [refund, edited], at: Self.start + 3 * Self.day)?.status == .refunded)
        }
        let item: JSONValue = [
            "current_period_start": .integer(Self.start + 30 * Self.day), "current_period_end": .integer(Self.start + 60 * Self.day),
            "price": ["id": "price_2", "product": "prod_1"],
        ]
        let renewed = parse(updated, subscription("active", ["items": ["data": [item]]]), id: "evt_6", at: Self.start + 30 * Self.day)
        #expect(state(created + [refund, renewed], at: Self.start + 31 * Self.day)?.isActive == true)
    }
}
