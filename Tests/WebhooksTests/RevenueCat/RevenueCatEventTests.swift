import CoachCore
import JSON
import Testing
import WebhookTestSupport

@testable import Webhooks

@Suite("RevenueCat events")
struct RevenueCatEventTests {
    private func parse(_ type: String, _ changes: [String: JSONValue?] = [:]) -> IntakeEvent {
        RevenueCatEvent.parse(RevenueCatSample.body(type, changes))
    }

    private func purchase(_ intake: IntakeEvent) -> (event: PurchaseEvent, period: BillingPeriod, reference: PurchaseReference)? {
        guard case .event(let event) = intake.outcome, case .purchase(let reference, let change, let period) = event.change else {
            return nil
        }
        return (change, period, reference)
    }

    @Test(
        "each documented sample of a purchase event is parsed",
        arguments: [
            ("INITIAL_PURCHASE", PurchaseEvent.purchased), ("RENEWAL", .renewed), ("CANCELLATION", .cancelled),
            ("UNCANCELLATION", .uncancelled), ("NON_RENEWING_PURCHASE", .purchased), ("SUBSCRIPTION_PAUSED", .pauseScheduled),
            ("EXPIRATION", .expired(paused: false)),
            ("BILLING_ISSUE", .billingIssue(graceUntil: BillingInstant(milliseconds: 1_602_546_647_000))),
            ("PRODUCT_CHANGE", .productChange(to: "com.revenuecat.myapp.yearly")), ("SUBSCRIPTION_EXTENDED", .extended),
            ("TEMPORARY_ENTITLEMENT_GRANT", .temporaryGrant), ("REFUND_REVERSED", .refundReversed),
        ])
    func life(type: String, expected: PurchaseEvent) {
        let intake = parse(type)
        #expect(purchase(intake)?.event == expected)
        #expect(intake.type == type && intake.environment == .production && intake.source == .revenuecat)
        #expect(intake.id == "12345678-1234-1234-1234-123456789012")
    }

    @Test("all fields that the fold uses are read")
    func fields() throws {
        guard case .event(let event) = parse("INITIAL_PURCHASE", ["period_type": "TRIAL", "environment": "SANDBOX"]).outcome else {
            Issue.record("ignored")
            return
        }
        #expect(event.occurredAt == BillingInstant(milliseconds: 1_658_726_378_679))
        #expect(
            event.subject.map(\.text) == ["1234567890", "$RCAnonymousID:87c6049c58069238dce29853916d624c", RevenueCatSample.anonymous])
        let reference = PurchaseReference(
            environment: .sandbox, store: .appStore, originalTransaction: "123456789012345", transaction: "123456789012345")
        let period = BillingPeriod(
            product: "com.subscription.weekly", entitlements: ["pro"], isTrial: true, renews: true,
            purchasedAt: BillingInstant(milliseconds: 1_658_726_374_000),
            expiry: BillingInstant(milliseconds: 1_659_331_174_000).map(Expiry.at))
        #expect(event.change == .purchase(reference, .purchased, period))
    }

    @Test("an app user id in the form of a store's id is not used")
    func reserved() {
        #expect(parse("RENEWAL", ["app_user_id": "stripe:cus_1"]).outcome != .ignored(.missing("event.app_user_id")))
        guard case .event(let event) = parse("RENEWAL", ["app_user_id": "stripe:cus_1"]).outcome else {
            Issue.record("ignored")
            return
        }
        #expect(!event.subject.contains { $0.isOfStore } && !event.subject.isEmpty)
        let transfer = parse(
            "TRANSFER",
            ["event_timestamp_ms": 1_658_726_378_679, "transferred_from": ["appstore:1"], "transferred_to": ["a"]])
        #expect(transfer.outcome == .ignored(.invalid("event.transferred_from")))
    }

    @Test(
        "the price is in US dollars; an invalid one is unknown, and the event is still used",
        arguments: [
            (9.99, 9_990_000_000), (0, 0), (-4.99, -4_990_000_000), (.null, nil), ("9.99", nil), (1e300, nil), (1_000_001, nil),
        ] as [(JSONValue, Int64?)])
    func price(value: JSONValue, nanodollars: Int64?) {
        let intake = parse("RENEWAL", ["price": value])
        #expect(intake.price == nanodollars.map { Nanodollars($0) })
        #expect(purchase(intake)?.event == .renewed)
    }

    @Test("reasons distinguish a refund from a cancellation and a pause from an expiration")
    func reasons() {
        #expect(purchase(parse("CANCELLATION", ["cancel_reason": "CUSTOMER_SUPPORT", "price": -9.99]))?.event == .refunded)
        for reason in ["BILLING_ERROR", "DEVELOPER_INITIATED", "PRICE_INCREASE", "UNKNOWN", "SOMETHING_NEW"] {
            #expect(purchase(parse("CANCELLATION", ["cancel_reason": .string(reason)]))?.event == .cancelled)
        }
        #expect(purchase(parse("EXPIRATION", ["expiration_reason": "SUBSCRIPTION_PAUSED"]))?.event == .expired(paused: true))
        #expect(purchase(parse("BILLING_ISSUE", ["grace_period_expiration_at_ms": nil]))?.event == .billingIssue(graceUntil: nil))
        #expect(purchase(parse("BILLING_ISSUE", ["grace_period_expiration_at_ms": .null]))?.event == .billingIssue(graceUntil: nil))
    }

    @Test("the refund of a consumable product is not counted, because its sale is not")
    func refundOfConsumable() {
        let coins: [String: JSONValue?] = ["product_id": "coins", "entitlement_ids": .null, "expiration_at_ms": .null]
        #expect(parse("NON_RENEWING_PURCHASE", coins).outcome == .ignored(.consumable))
        for (changes, kind) in [(coins, nil), ([:], .refund)] as [([String: JSONValue?], BillingFigures.Kind?)] {
            let intake = parse("CANCELLATION", changes.merging(["cancel_reason": "CUSTOMER_SUPPORT"]) { $1 })
            guard case .event(let event) = intake.outcome else {
                Issue.record("ignored")
                continue
            }
            #expect(BillingFigures(event, price: intake.price)?.kind == kind)
        }
    }

    @Test("the refund of an earlier period does not end the renewed one; that of the current period does")
    func earlierRefund() {
        let (start, month): (Int64, Int64) = (1_767_225_600_000, 30 * 86_400_000)
        func event(_ type: String, period: Int64, at: Int64, _ more: [String: JSONValue?] = [:]) -> BillingEvent? {
            let changes: [String: JSONValue?] = [
                "id": .string("\(type) \(at)".replacing(" ", with: "-")), "event_timestamp_ms": .integer(start + at),
                "purchased_at_ms": .integer(start + period * month), "expiration_at_ms": .integer(start + (period + 1) * month),
                "original_transaction_id": "t0", "transaction_id": .string("t\(period)"), "cancel_reason": "CUSTOMER_SUPPORT",
            ]
            guard case .event(let event) = parse(type, changes.merging(more) { $1 }).outcome else { return nil }
            return event
        }
        let events = [
            event("INITIAL_PURCHASE", period: 0, at: 0), event("RENEWAL", period: 1, at: month),
            event("CANCELLATION", period: 0, at: month + 60_000, ["expiration_at_ms": .integer(start + month + 60_000)]),
        ]
        let refund = event("CANCELLATION", period: 1, at: month + 120_000)
        func status(_ events: [BillingEvent?]) -> EntitlementState.Status? {
            guard let user = SubscriberID("1234567890"), let later = BillingInstant(milliseconds: start + month + 180_000) else {
                return nil
            }
            return EntitlementFold(events.compactMap(\.self)).state(of: user, at: later).status
        }
        #expect(events.allSatisfy { $0 != nil } && status(events) == .active && status(events.reversed()) == .active)
        #expect(status(events + [refund]) == .refunded)
    }

    @Test("the subscribers whose purchases it may have changed are named also by an event that is ignored")
    func reconciled() {
        func names(_ type: String, _ changes: [String: JSONValue?] = [:]) -> [String] { parse(type, changes).reconciled.map(\.text) }
        #expect(names("RENEWAL") == ["1234567890"] && names("SUBSCRIBER_ALIAS") == ["1234567890"])
        for changes in [
            ["expiration_at_ms": .null], ["expiration_at_ms": RevenueCatSample.year4466], ["environment": 7], ["aliases": [.null]],
        ] as [[String: JSONValue?]] {
            guard case .ignored = parse("INITIAL_PURCHASE", changes).outcome else {
                Issue.record("not ignored")
                continue
            }
            #expect(names("INITIAL_PURCHASE", changes) == ["1234567890"])
        }
        #expect(names("INITIAL_PURCHASE", ["app_user_id": 7, "original_app_user_id": .null]) == [RevenueCatSample.anonymous])
        #expect(names("PURCHASE_REDEEMED") == [RevenueCatSample.anonymous, "1234567890"])
        #expect(names("PURCHASE_REDEEMED", ["redeemed_from": 7]) == ["1234567890"])
        #expect(names("TRANSFER") == ["00005a1c-6091-4f81-be77-f0a83a271ab6", "4bedb450-8ef2-11e9-b475-0800200c9a66"])
        for type in ["TEST", "PAYWALL_CLOSE", "SOMETHING_NEW"] { #expect(names(type) == []) }
        #expect(names("RENEWAL", ["app_user_id": "stripe:cus_1", "original_app_user_id": .null, "aliases": []]) == [])
    }

    @Test("a purchase without an expiry is a lifetime purchase if it gives an entitlement, otherwise a consumable")
    func nonRenewing() {
        #expect(purchase(parse("NON_RENEWING_PURCHASE"))?.period.expiry == .never)
        #expect(purchase(parse("NON_RENEWING_PURCHASE"))?.period.renews == false)
        #expect(parse("NON_RENEWING_PURCHASE", ["entitlement_ids": .null]).outcome == .ignored(.consumable))
        #expect(
            purchase(parse("NON_RENEWING_PURCHASE", ["entitlement_ids": .null, "entitlement_id": "old"]))?.period.entitlements == ["old"])
        #expect(parse("INITIAL_PURCHASE", ["expiration_at_ms": .null]).outcome == .ignored(.missing("event.expiration_at_ms")))
    }

    @Test("a grant of 200 years from the dashboard is a lifetime grant")
    func promotional() {
        let changes: [String: JSONValue?] = ["store": "PROMOTIONAL", "expiration_at_ms": 7_964_352_000_000, "period_type": "PROMOTIONAL"]
        let granted = purchase(parse("NON_RENEWING_PURCHASE", changes))
        #expect(granted?.period.expiry == .never && granted?.period.renews == false)
    }

    @Test("a transfer names two subscribers; the documented sample, of the year 4466, is ignored")
    func transfer() {
        #expect(parse("TRANSFER").outcome == .ignored(.invalid("event.event_timestamp_ms")))
        guard case .event(let event) = parse("TRANSFER", ["event_timestamp_ms": 1_700_000_000_000]).outcome,
            case .transfer(let from, let to, let store, let environment) = event.change
        else {
            Issue.record("ignored")
            return
        }
        #expect(from.map(\.text) == ["00005a1c-6091-4f81-be77-f0a83a271ab6"] && to.map(\.text) == ["4bedb450-8ef2-11e9-b475-0800200c9a66"])
        #expect(store == .appStore && environment == .production && event.subject == [])
        #expect(
            parse("TRANSFER", ["event_timestamp_ms": 1_700_000_000_000, "transferred_to": []]).outcome
                == .ignored(.invalid("event.transferred_to")))
    }

    @Test("the first payment after a trial is a renewal that is no trial")
    func trialConversion() {
        let converted = purchase(parse("RENEWAL"))
        #expect(converted?.event == .renewed && converted?.period.isTrial == false)
    }

    @Test("a redeemed purchase changes nothing by itself: neither of its users is linked")
    func redeemed() {
        #expect(parse("PURCHASE_REDEEMED").outcome == .ignored(.informational))
        #expect(parse("PURCHASE_REDEEMED", ["redeemed_by": 7, "redeemed_from": .null]).outcome == .ignored(.informational))
    }

    @Test("all UUIDs and customers of a body are found, wherever they stand, also when the event or the whole body is not understood")
    func names() {
        let (first, second) = (SubscriberID(.random()), SubscriberID(.random()))
        let body = RevenueCatSample.body(
            "SOMETHING_NEW",
            [
                "id": "e1", "app_user_id": .string(first.description.uppercased()), "note": "discus_ $RCAnonymousID: cus_",
                "aliases": [.string("user-\(second)-\(first)x"), "12345678-1234-1234-1234"],
                "metadata": ["12345678-1234-1234-1234-12345678901g", "--------------------------------------"],
            ])
        for text in [body, Array(body.dropLast())] {
            #expect(Set(RevenueCatEvent.parse(text).names.filter { $0.userID != nil }) == [first, second])
        }
        let edges = Array("\(first) \(second)".utf8)
        #expect(RevenueCatEvent.parse(edges).names == [first, second])
        for length in 0...8 { #expect(RevenueCatEvent.parse(Array(edges.prefix(length))).names == []) }
        #expect(RevenueCatEvent.parse(Array(edges.prefix(35))).names == [])
        let customers = Array(#"{"customer":"cus_Q1aZ","of":"$RCAnonymousID:0f3c9a","last":"cus_9"#.utf8)
        #expect(
            Set(RevenueCatEvent.parse(customers).names.map(\.text)) == ["stripe:cus_Q1aZ", "$RCAnonymousID:0f3c9a", "stripe:cus_9"])
    }

    @Test("types without effect are ignored with any content, and unknown types too")
    func withoutEffect() {
        let types = RevenueCatEventType.allCases.filter { !$0.affectsEntitlements }
        #expect(types.count == 12)
        for type in types {
            #expect(parse(type.rawValue).outcome == .ignored(.informational), "\(type)")
            #expect(parse(type.rawValue, ["event_timestamp_ms": RevenueCatSample.year4466]).outcome == .ignored(.informational))
        }
        #expect(parse("SOMETHING_NEW").outcome == .ignored(.unknownType) && parse("SOMETHING_NEW").type == "SOMETHING_NEW")
        guard case .event(let alias) = parse("SUBSCRIBER_ALIAS").outcome else {
            Issue.record("ignored")
            return
        }
        #expect(alias.change == .identity && alias.subject.count == 3)
    }

    @Test(
        "a value out of range or of another type is ignored with the field's name",
        arguments: [
            ("event_timestamp_ms", RevenueCatSample.year4466), ("event_timestamp_ms", -1), ("event_timestamp_ms", 1.5),
            ("event_timestamp_ms", .number(1e300)), ("event_timestamp_ms", "soon"), ("event_timestamp_ms", .array([])),
            ("expiration_at_ms", RevenueCatSample.year4466), ("expiration_at_ms", .integer(.max)), ("purchased_at_ms", .integer(.min)),
            ("entitlement_ids", "pro"), ("entitlement_ids", .array([.integer(1)])), ("aliases", .array([.null])), ("store", 7),
            ("environment", "STAGING"), ("product_id", .object([])), ("id", ""), ("id", "with space"), ("type", 1),
            ("transaction_id", .string("a\u{0}b")), ("product_id", .string(String(repeating: "p", count: 256))),
        ] as [(String, JSONValue)])
    func outOfRange(field: String, value: JSONValue) {
        #expect(parse("INITIAL_PURCHASE", [field: value]).outcome == .ignored(.invalid("event.\(field)")))
    }

    @Test("a missing field is ignored with its name", arguments: ["id", "type", "event_timestamp_ms", "expiration_at_ms"])
    func missing(field: String) {
        #expect(parse("INITIAL_PURCHASE", [field: nil]).outcome == .ignored(.missing("event.\(field)")))
    }

    @Test("without an app user id the subscriber is identified by another id; without any id the event is ignored")
    func subscriber() {
        #expect(purchase(parse("RENEWAL", ["app_user_id": .null])) != nil)
        let none: [String: JSONValue?] = ["app_user_id": .null, "original_app_user_id": .null, "aliases": .null]
        #expect(parse("RENEWAL", none).outcome == .ignored(.missing("event.app_user_id")))
    }

    @Test("malformed bodies are ignored, and each gets an id from its content")
    func nonsense() {
        let bodies: [[UInt8]] = [
            [], Array("null".utf8), Array("[]".utf8), Array("{}".utf8), Array(#"{"event":1}"#.utf8), Array(#"{"event":{}}"#.utf8),
            [0xFF, 0xFE],
            Array(#"{"event":{"id":"\ud800"}}"#.utf8), Array(repeating: UInt8(ascii: "["), count: 262_144),
        ]
        let intakes = bodies.map(RevenueCatEvent.parse)
        for intake in intakes {
            guard case .ignored = intake.outcome else {
                Issue.record("\(intake) is not ignored")
                continue
            }
            #expect(intake.id.hasPrefix("sha256:") && intake.id.count == 71)
        }
        #expect(Set(intakes.map(\.id)).count == bodies.count)
    }

    @Test("a body cut at any byte, or with any byte changed, does not crash the parser")
    func mutilated() {
        let body = RevenueCatSample.body("INITIAL_PURCHASE")
        for length in 0..<body.count {
            guard case .ignored = RevenueCatEvent.parse(Array(body[..<length])).outcome else {
                Issue.record("cut at \(length)")
                continue
            }
        }
        for index in body.indices {
            for byte in [0x00, 0x22, 0x2D, 0x39, 0x5C, 0x7B, 0x7D, 0x80, 0xFF] as [UInt8] {
                var changed = body
                changed[index] = byte
                _ = RevenueCatEvent.parse(changed)
            }
        }
    }
}
