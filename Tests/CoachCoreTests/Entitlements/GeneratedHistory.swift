import CoachCore
import TestSupport

/// Generates histories of a few subscribers who buy, lose, share and transfer purchases. There are few distinct times, ids and stores, so
/// that events of one instant and of one purchase are frequent.
struct HistoryGenerator {
    var random: SeededGenerator

    private static let subscribers = [
        BillingHistory.user, BillingHistory.otherUser, BillingHistory.anonymous, BillingHistory.subscriber("customer-4"),
    ]
    private static let entitlements = [["pro"], ["plus"], ["pro", "plus"], []]
    private static let stores: [BillingStore] = [.appStore, .playStore, .stripe]

    mutating func history(count: Int) -> [BillingEvent] {
        var history: [BillingEvent] = []
        while history.count < count {
            let event = event(number: history.count, subject(), at: instant(), change())
            history.append(event)
            guard case .revocation = event.change, history.count < count else { continue }
            // What a store says of the same subscriber, at the same time or later.
            let state = Bool.random(using: &random) ? snapshot() : .observation(observation())
            history.append(self.event(number: history.count, event.subject, at: max(event.occurredAt, instant()), state))
        }
        return history
    }

    private mutating func event(
        number: Int, _ subject: [SubscriberID], at instant: BillingInstant, _ change: BillingChange
    ) -> BillingEvent {
        BillingEvent(
            source: BillingSource.allCases.randomElement(using: &random)!, id: "e\(number)", occurredAt: instant, subject: subject,
            change: change, sequence: UInt8.random(in: 0...1, using: &random))
    }

    private mutating func instant() -> BillingInstant { BillingHistory.day(Double(Int.random(in: 0...40, using: &random)) * 5) }

    private mutating func subject() -> [SubscriberID] {
        var ids = [Self.subscribers.randomElement(using: &random)!]
        if Int.random(in: 0..<12, using: &random) == 0 { ids.append(Self.subscribers.randomElement(using: &random)!) }
        return ids
    }

    private mutating func change() -> BillingChange {
        switch Int.random(in: 0..<25, using: &random) {
        case 0:
            return .transfer(
                from: [Self.subscribers.randomElement(using: &random)!], to: [Self.subscribers.randomElement(using: &random)!],
                store: Bool.random(using: &random) ? Self.stores.randomElement(using: &random) : nil, environment: nil)
        case 1: return .grant(entitlement: "pro", until: Bool.random(using: &random) ? .never : .at(instant()))
        case 2: return .revocation(entitlement: Bool.random(using: &random) ? "pro" : nil)
        case 3: return .identity
        case 4: return snapshot()
        case 7: return .payment(["t1", "t2"].randomElement(using: &random)!, invoice: ["i1", "i2"].randomElement(using: &random)!)
        case 5, 6: return .observation(observation())
        default:
            let reference = reference()
            return .purchase(reference, purchaseEvent(), period())
        }
    }

    private mutating func snapshot() -> BillingChange {
        .snapshot((0..<Int.random(in: 0...2, using: &random)).map { _ in observation() })
    }

    private mutating func reference() -> PurchaseReference {
        PurchaseReference(
            environment: Int.random(in: 0..<8, using: &random) == 0 ? .sandbox : .production,
            store: Self.stores.randomElement(using: &random)!,
            originalTransaction: [nil, "o1", "o2"].randomElement(using: &random)!,
            transaction: [nil, "t1", "t2", "o1"].randomElement(using: &random)!,
            invoice: [nil, nil, "i1", "i2"].randomElement(using: &random)!)
    }

    private mutating func period() -> BillingPeriod {
        let start = instant()
        let lasting = Int64.random(in: 1...3, using: &random) * 15 * 86_400_000
        let isLifetime = Int.random(in: 0..<20, using: &random) == 0
        return BillingPeriod(
            product: [nil, "monthly", "yearly"].randomElement(using: &random)!,
            entitlements: Self.entitlements.randomElement(using: &random)!,
            isTrial: Int.random(in: 0..<5, using: &random) == 0, renews: Bool.random(using: &random),
            purchasedAt: Bool.random(using: &random) ? start : nil,
            expiry: isLifetime ? .never : Int.random(in: 0..<6, using: &random) == 0 ? nil : .at(start.advanced(by: lasting)))
    }

    private mutating func observation() -> PurchaseObservation {
        let ends: [PurchaseObservation.End?] = [nil, nil, .expired, .paused, .refunded]
        let reference = reference()
        return PurchaseObservation(
            reference: reference, period: period(), willRenew: Bool.random(using: &random), hasBillingIssue: Bool.random(using: &random),
            graceUntil: Bool.random(using: &random) ? instant() : nil, end: ends.randomElement(using: &random)!,
            endedAt: Bool.random(using: &random) ? instant() : nil, isFinal: Int.random(in: 0..<10, using: &random) == 0,
            replaces: [nil, nil, "o1", "o2"].randomElement(using: &random)!, hasRefund: Bool.random(using: &random),
            isUnpaid: Bool.random(using: &random))
    }

    private mutating func purchaseEvent() -> PurchaseEvent {
        let grace = instant()
        let events: [PurchaseEvent] = [
            .temporaryGrant, .purchased, .purchased, .productChange(to: "yearly"), .productChange(to: nil), .pauseScheduled,
            .billingIssue(graceUntil: grace), .billingIssue(graceUntil: nil), .cancelled, .expired(paused: false), .expired(paused: true),
            .refunded, .uncancelled, .extended, .renewed, .renewed, .renewed, .refundReversed,
        ]
        return events.randomElement(using: &random)!
    }
}
