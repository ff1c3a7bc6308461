import CoachCore
import JSON
import Testing

@testable import Webhooks

@Suite("Stripe events")
struct StripeEventTests: StripeBench {
    @Test("a subscription before its checkout belongs to the user of the checkout")
    func parked() {
        let created = parse("customer.subscription.created", subscription("active"))
        #expect(state([created], at: Self.start + 200) == EntitlementState.none)
        let bound = state([checkout(), created], at: Self.start + 200)
        #expect(bound?.isActive == true && bound?.entitlement == "plus" && bound?.store == .stripe && bound?.willRenew == true)
    }

    @Test("a reference that the buyer can choose is used only if it is a user's id, and not if the metadata has one")
    func reference() {
        let victim = "0c9b8a7d-6e5f-4a3b-8c1d-2e3f4a5b6c7d"
        func subject(_ reference: String, _ metadata: JSONValue = .null) -> [String]? {
            event(
                parse(
                    "checkout.session.completed",
                    [
                        "mode": "subscription", "client_reference_id": .string(reference), "customer": "cus_1", "metadata": metadata,
                    ]))?.subject.map(\.text)
        }
        #expect(subject(user) == [user, "stripe:cus_1"])
        for chosen in ["stripe:cus_2", "appstore:1", "$RCAnonymousID:1", "x"] { #expect(subject(chosen) == ["stripe:cus_1"]) }
        #expect(subject(victim, ["user_id": .string(user)]) == [user, "stripe:cus_1"])
        // Two users of one customer are not merged.
        let other = parse(
            "checkout.session.completed",
            ["mode": "subscription", "client_reference_id": .string(victim), "customer": "cus_1"], id: "evt_9", at: Self.start + 150)
        let created = parse("customer.subscription.created", subscription("active"), at: Self.start + 160)
        #expect(state([checkout(), other, created], at: Self.start + 200)?.isActive == true)
        let fold = EntitlementFold([checkout(), other, created].compactMap(event))
        let instant = instant(Self.start + 200)!
        #expect(fold.state(of: SubscriberID(victim)!, at: instant) == .none)
    }

    @Test("payments in US dollars have a price; payments in other currencies and other events have none")
    func prices() {
        var paid = invoice(1_999)
        #expect(parse("invoice.paid", paid).price == nil)
        if case .object(let members) = paid { paid = .object(members + [JSONMember("currency", "usd")]) }
        #expect(parse("invoice.paid", paid).price == Nanodollars(19_990_000_000))
        let refund: JSONValue = ["customer": "cus_1", "refunded": true, "amount_refunded": 500, "currency": "usd"]
        #expect(parse("charge.refunded", refund).price == Nanodollars(-5_000_000_000))
        #expect(parse("customer.subscription.updated", subscription("active")).price == nil)
    }

    @Test(
        "each status gives or ends access",
        arguments: [
            ("active", true), ("trialing", true), ("past_due", true), ("unpaid", false), ("incomplete", false),
            ("incomplete_expired", false), ("canceled", false), ("paused", false),
        ])
    func status(status: String, isActive: Bool) {
        let state = state([checkout(), parse("customer.subscription.updated", subscription(status))], at: Self.start + 200)
        #expect(state?.isActive == isActive && state?.isTrial == (status == "trialing") && state?.inGrace == (status == "past_due"))
    }

    @Test(
        "a pause of payments ends access when the seller voids invoices, until it ends",
        arguments: [("void", false), ("keep_as_draft", true), ("mark_uncollectible", true)])
    func pausedCollection(behavior: String, isActive: Bool) {
        let updated = "customer.subscription.updated"
        let paused = subscription("active", ["pause_collection": ["behavior": .string(behavior), "resumes_at": .null]])
        let events = [checkout(), parse(updated, paused, id: "evt_2", at: Self.start + 300)]
        #expect(state(events, at: Self.start + 400)?.isActive == isActive)
        let resumed = parse(updated, subscription("active", ["pause_collection": .null]), id: "evt_3", at: Self.start + 500)
        for order in [events + [resumed], [resumed] + events] { #expect(state(order, at: Self.start + 600)?.isActive == true) }
    }

    @Test("an unknown status is ignored")
    func unknownStatus() {
        let intake = parse("customer.subscription.updated", subscription("something"))
        #expect(intake.outcome == .ignored(.invalid("data.object.status")))
    }

    @Test("access of an overdue subscription lasts seven days into the unpaid period")
    func pastDue() {
        let events = [checkout(), parse("customer.subscription.updated", subscription("past_due"))]
        #expect(state(events, at: Self.start + 7 * Self.day - 1)?.inGrace == true)
        #expect(state(events, at: Self.start + 7 * Self.day)?.isActive == false)
    }

    @Test("a failed payment of a change in the middle of a paid period leaves that period its access")
    func pastDueMidPeriod() {
        func paid(from day: Int64, id: String) -> IntakeEvent {
            let period: JSONValue = ["start": .integer(Self.start + day * Self.day), "end": .integer(Self.start + 30 * Self.day)]
            let invoice: JSONValue = [
                "id": .string("in_\(id)"), "customer": "cus_1", "amount_paid": 900,
                "payments": ["data": [["payment": ["type": "payment_intent", "payment_intent": .string("pi_\(day)")]]]],
                "parent": ["subscription_details": ["subscription": "sub_1"]], "lines": ["data": [["period": period]]],
            ]
            return parse("invoice.paid", invoice, id: id, at: Self.start + day * Self.day + 1)
        }
        let updated = "customer.subscription.updated"
        let created = [checkout(), parse("customer.subscription.created", subscription("active"), id: "evt_1"), paid(from: 0, id: "evt_2")]
        let overdue = [20, 21].map { parse(updated, subscription("past_due"), id: "evt_\($0)", at: Self.start + $0 * Self.day) }
        for events in [created + overdue, created + [paid(from: 10, id: "evt_3")] + overdue] {
            #expect(state(events, at: Self.start + 29 * Self.day)?.isActive == true)
            #expect(state(events, at: Self.start + 30 * Self.day)?.isActive == false)
        }
        // The payment of a change is not that of the period: its refund ends the subscription all the same.
        let changed =
            created + [paid(from: 10, id: "evt_3"), parse(updated, subscription("active"), id: "evt_4", at: Self.start + 11 * Self.day)]
        let refund = parse(
            "charge.refunded", ["customer": "cus_1", "refunded": true, "payment_intent": "pi_0"], id: "evt_5",
            at: Self.start + 12 * Self.day)
        #expect(state(changed + [refund], at: Self.start + 13 * Self.day)?.status == .refunded)
        // An invoice for something else than time.
        #expect(parse("invoice.paid", invoice(900, from: 10, to: 10)).outcome == .ignored(.informational))
        // Stripe calls a period active before it tries to have it paid.
        let item: JSONValue = [
            "current_period_start": .integer(Self.start + 30 * Self.day), "current_period_end": .integer(Self.start + 60 * Self.day),
            "price": ["id": "price_2", "product": "prod_1"],
        ]
        let next = ["active", "past_due"].enumerated().map { index, status in
            let at = Self.start + 30 * Self.day + Int64(index) * 3600
            return parse(updated, subscription(status, ["items": ["data": [item]]]), id: "evt_9\(index)", at: at)
        }
        #expect(state(created + next, at: Self.start + 36 * Self.day)?.inGrace == true)
        #expect(state(created + next, at: Self.start + 37 * Self.day)?.isActive == false)
    }

    @Test("both forms of cancelling at the end of the period are read")
    func cancelAtEnd() {
        #expect(observation("active", ["cancel_at_period_end": true])?.willRenew == false)
        let at = observation("active", ["cancel_at": .integer(Self.start + Self.day)])
        #expect(at?.willRenew == false && at?.period.expiry?.instant == instant(Self.start + Self.day))
        #expect(observation("active")?.willRenew == true && observation("active", ["cancel_at": .null])?.willRenew == true)
        let term = observation("active", ["cancel_at": .integer(Self.start + 360 * Self.day)])
        #expect(term?.willRenew == true, "it is renewed until the end of its term")
        #expect(term?.period.expiry == observation("active")?.period.expiry)
    }

    @Test("the period's end is also read from the subscription itself, where older API versions have it")
    func oldVersion() {
        let old = observation("active", ["items": ["data": []], "current_period_end": .integer(Self.start + 60)])
        #expect(old?.period.expiry?.instant == instant(Self.start + 60))
        let intake = parse("customer.subscription.updated", subscription("active", ["items": ["data": []]]))
        #expect(intake.outcome == .ignored(.missing("data.object.items.data[0].current_period_end")))
    }

    @Test("among events of one second the deletion is last, and a cancelled subscription stays cancelled")
    func sameSecond() {
        let events = [
            checkout(), parse("customer.subscription.created", subscription("incomplete"), id: "evt_z"),
            parse("customer.subscription.updated", subscription("active"), id: "evt_b"),
        ]
        #expect(state(events, at: Self.start + 200)?.isActive == true)
        let deleted = parse("customer.subscription.deleted", subscription("canceled", ["ended_at": .integer(Self.start)]), id: "evt_a")
        let stale = parse("customer.subscription.updated", subscription("active"), id: "evt_c", at: Self.start + 5)
        #expect(state(events + [deleted, stale], at: Self.start + 200)?.status == .expired)
    }

    @Test("of two updates in one second the one that ended the first status counts, whatever their ids")
    func updatesOfOneSecond() {
        let updated = "customer.subscription.updated"
        let active = parse(updated, subscription("active"), id: "evt_a", before: ["status": "incomplete"])
        let incomplete = parse(updated, subscription("incomplete"), id: "evt_b", before: ["default_payment_method": .null])
        #expect(state([checkout(), incomplete, active], at: Self.start + 200)?.isActive == true)
    }

    @Test("a paid invoice renews the subscription; a failed payment and an invoice over zero do not")
    func invoices() {
        let created = [checkout(), parse("customer.subscription.created", subscription("active"), id: "evt_1")]
        let paid = parse("invoice.paid", invoice(900), id: "evt_2", at: Self.start + 30 * Self.day)
        #expect(state(created + [paid], at: Self.start + 40 * Self.day)?.entitlement == "plus")
        #expect(parse("invoice.paid", invoice(0)).outcome == .ignored(.informational))
        let failed = parse("invoice.payment_failed", invoice(0), id: "evt_3", at: Self.start + Self.day)
        #expect(state(created + [failed], at: Self.start + 2 * Self.day)?.isActive == true)
        #expect(state(created + [failed], at: Self.start + 31 * Self.day)?.isActive == false)
    }

    @Test("an invoice that is paid after its period was cancelled leaves it cancelled, that of the next period renews")
    func paidAfterCancellation() {
        let ending = subscription("active", ["cancel_at": .integer(Self.start + 10 * Self.day)])
        let cancelled = [checkout(), parse("customer.subscription.updated", ending, id: "evt_1", at: Self.start + 60)]
        let paid = parse("invoice.paid", invoice(900, from: 0, to: 30), id: "evt_2", at: Self.start + 3_600)
        let state = state(cancelled + [paid], at: Self.start + Self.day)
        #expect(state?.isActive == true && state?.willRenew == false)
        #expect(self.state(cancelled + [paid], at: Self.start + 11 * Self.day)?.isActive == false)
        let next = parse("invoice.paid", invoice(900, from: 30, to: 60), id: "evt_3", at: Self.start + 31 * Self.day)
        #expect(self.state(cancelled + [paid, next], at: Self.start + 32 * Self.day)?.willRenew == true)
    }

    @Test("an invoice that names no user leaves a subscription to its user, where another one shares the customer")
    func sharedCustomer() {
        let other = "1f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b"
        let theirs = parse(
            "customer.subscription.updated", subscription("active", ["metadata": ["user_id": .string(other)]]), id: "evt_1",
            at: Self.start + 200)
        let period: JSONValue = ["start": .integer(Self.start), "end": .integer(Self.start + 30 * Self.day)]
        let invoice: JSONValue = [
            "customer": "cus_1", "amount_paid": 900, "parent": ["subscription_details": ["subscription": "sub_1"]],
            "lines": ["data": [["period": period]]],
        ]
        let paid = parse("invoice.paid", invoice, id: "evt_2", at: Self.start + 3_600)
        let fold = EntitlementFold([checkout(), theirs, paid].compactMap(event))
        #expect(fold.state(of: SubscriberID(other)!, at: instant(Self.start + Self.day)!).isActive)
        #expect(state([checkout(), theirs, paid], at: Self.start + Self.day)?.isActive != true)
    }

    @Test("test mode is the sandbox; thin, unknown and malformed events are ignored")
    func ignored() {
        #expect(parse("customer.subscription.created", subscription("active"), live: false).environment == .sandbox)
        let thin: JSONValue = ["id": "evt_5", "object": "v2.core.event", "type": "v1.customer.created", "created": "2026-01-01T00:00:00Z"]
        #expect(StripeEvent.parse(thin.bytes, catalogue: catalogue).outcome == .ignored(.informational))
        #expect(parse("customer.created", ["id": "cus_1"]).outcome == .ignored(.unknownType))
        #expect(parse("checkout.session.completed", ["mode": "payment", "customer": "cus_1"]).outcome == .ignored(.informational))
        #expect(parse("customer.subscription.created", ["id": "sub_1"]).outcome == .ignored(.missing("data.object.customer")))
        #expect(StripeEvent.parse([0xFF], catalogue: catalogue).outcome == .ignored(.notUnderstood))
    }
}
