import CoachCore
import Testing

@Suite("The entitlement of a subscriber")
struct SubscriberStateTests {
    private var history = BillingHistory()
    private let day = BillingHistory.day

    private func reference(_ transaction: String?, _ store: BillingStore = .appStore) -> PurchaseReference {
        PurchaseReference(environment: .production, store: store, originalTransaction: transaction, transaction: transaction)
    }

    @Test("purchases of an anonymous id belong to the user that it is linked to, even if the link arrives last")
    mutating func alias() {
        history.add(.purchased, on: 0, from: 0, to: 30, subject: [BillingHistory.anonymous])
        #expect(!history.state(on: 1).isActive)
        history.add(.identity, on: 50, subject: [BillingHistory.user, BillingHistory.anonymous])
        #expect(history.state(on: 1).isActive && history.state(of: BillingHistory.anonymous, on: 1).isActive)
    }

    @Test("only RevenueCat's events merge two users; other senders' events never give one user's purchases to another")
    mutating func noMerging() {
        let customer = BillingHistory.subscriber("stripe:cus_1")
        history.add(.purchased, on: 0, from: 0, to: 30)
        func bound(_ id: String, to user: SubscriberID, on day: Double) -> BillingEvent {
            BillingEvent(source: .stripe, id: id, occurredAt: self.day(day), subject: [user, customer], change: .identity)
        }
        let bought = BillingEvent(
            source: .stripe, id: "c", occurredAt: day(3), subject: [customer],
            change: .purchase(
                reference("s", .stripe), .purchased, BillingPeriod(entitlements: ["web"], purchasedAt: day(3), expiry: .at(day(33)))))
        let events = history.events + [bound("a", to: BillingHistory.otherUser, on: 1), bound("b", to: BillingHistory.user, on: 2), bought]
        for arrivals in [events, events.reversed()] {
            let fold = EntitlementFold(arrivals)
            #expect(!fold.isSame(BillingHistory.user, BillingHistory.otherUser))
            #expect(!fold.state(of: BillingHistory.otherUser, entitlement: "pro", at: day(4)).isActive)
            // The customer belongs to the user of the first event.
            #expect(fold.state(of: BillingHistory.otherUser, entitlement: "web", at: day(4)).isActive)
            #expect(!fold.state(of: BillingHistory.user, entitlement: "web", at: day(4)).isActive)
        }
        history.add(.identity, on: 5, subject: [BillingHistory.user, BillingHistory.otherUser])
        #expect(history.fold.isSame(BillingHistory.user, BillingHistory.otherUser))
    }

    @Test("a user's id in upper case is the same id")
    func upperCase() {
        #expect(SubscriberID("7F3D6C1E-0B7A-4F7E-9B1A-3C5D2E1F0A9B") == BillingHistory.user)
        #expect(SubscriberID("") == nil && SubscriberID(String(repeating: "x", count: 256)) == nil && SubscriberID("a\0b") == nil)
    }

    @Test("a transfer moves the purchases, and events after it belong to the receiver")
    mutating func transfer() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(
            .transfer(from: [BillingHistory.user], to: [BillingHistory.otherUser], store: .appStore, environment: nil), on: 5, subject: [])
        #expect(!history.state(on: 6).isActive && history.state(of: BillingHistory.otherUser, on: 6).isActive)
        history.add(.renewed, on: 30, from: 30, to: 60, subject: [BillingHistory.otherUser])
        #expect(!history.state(on: 31).isActive && history.state(of: BillingHistory.otherUser, on: 31).isActive)
        history.add(
            .transfer(from: [BillingHistory.otherUser], to: [BillingHistory.user], store: nil, environment: nil), on: 32, subject: [])
        #expect(history.state(on: 33).isActive && !history.state(of: BillingHistory.otherUser, on: 33).isActive)
    }

    @Test("a transfer of one store's purchases leaves the other stores' and the granted ones")
    mutating func transferOfStore() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.purchased, on: 0, from: 0, to: 30, ["web"], reference: reference("s", .stripe))
        history.add(.grant(entitlement: "gift", until: .never), on: 1)
        history.add(
            .transfer(from: [BillingHistory.user], to: [BillingHistory.otherUser], store: .appStore, environment: nil), on: 5, subject: [])
        #expect(!history.state(on: 6, "pro").isActive && history.state(on: 6, "web").isActive && history.state(on: 6, "gift").isActive)
        #expect(history.state(of: BillingHistory.otherUser, on: 6).entitlement == "pro")
    }

    @Test("the best of several purchases decides the state; each entitlement also has its own")
    mutating func several() {
        history.add(.purchased, on: 0, from: 0, to: 90, ["trial"], product: "t", isTrial: true, reference: reference("t"))
        history.add(.purchased, on: 0, from: 0, to: 30, ["pro"], product: "m", reference: reference("m", .playStore))
        history.add(.purchased, on: 0, from: 0, to: 60, ["pro", "plus"], product: "y", reference: reference("y", .stripe))
        #expect(history.state(on: 1).product == "y" && history.state(on: 1).store == .stripe && !history.state(on: 1).isTrial)
        #expect(history.state(on: 61).product == "t" && history.state(on: 61).isTrial)
        #expect(!history.state(on: 61, "plus").isActive && history.state(on: 61, "unknown") == .none)
    }

    @Test("sandbox purchases give access only if they are included")
    mutating func sandbox() {
        var sandbox = history.reference
        sandbox.environment = .sandbox
        history.add(.purchased, on: 0, from: 0, to: 30, reference: sandbox)
        #expect(history.state(on: 1) == .none && history.state(on: 1, includingSandbox: true).isActive)
        history.add(.purchased, on: 0, from: 0, to: 20)
        history.add(.refunded, on: 2, from: 0, to: 20, reference: sandbox)
        #expect(history.state(on: 3).isActive)
    }

    @Test("a temporary grant lasts at most 24 hours, even with a later expiry")
    mutating func temporaryGrant() {
        history.add(.temporaryGrant, on: 0, [], product: nil, reference: reference(nil))
        #expect(history.state(on: 0.9).isActive && !history.state(on: 0.9).willRenew && !history.state(on: 1).isActive)
        history.add(.temporaryGrant, on: 5, to: 300, reference: reference("9"))
        #expect(history.state(on: 5.9).isActive && !history.state(on: 6).isActive)
    }

    @Test("a temporary grant ends with the purchase that it stood in for, or with the expiration of its transaction")
    mutating func temporaryGrantEnds() {
        history.add(.temporaryGrant, on: 0, [], product: nil, reference: reference(nil))
        var refunded = history
        refunded.add(.purchased, on: 0.1, from: 0, to: 30)
        refunded.add(.refunded, on: 0.2, from: 0, to: 0.2)
        #expect(!refunded.state(on: 0.3).isActive)
        history.add(.expired(paused: false), on: 0.2, to: 0.2)
        #expect(!history.state(on: 0.3).isActive)

        var named = BillingHistory()
        let transaction = PurchaseReference(environment: .production, store: .appStore, transaction: "77")
        named.add(.temporaryGrant, on: 0, to: 1, reference: transaction)
        named.add(.expired(paused: false), on: 0.5, to: 0.5, reference: reference("77"))
        #expect(!named.state(on: 0.6).isActive)
    }

    @Test("a temporary grant does not shorten a paid period")
    mutating func temporaryGrantOnPaid() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.temporaryGrant, on: 2, to: 3)
        #expect(history.state(on: 29).isActive && history.state(on: 29).willRenew)
        history.add(.temporaryGrant, on: 29.9, to: 30.9)
        #expect(history.state(on: 30.5).isActive)
    }

    @Test("manual grants and revocations are events")
    mutating func manual() {
        history.add(.grant(entitlement: "pro", until: .at(day(30))), on: 0)
        #expect(history.state(on: 1).store == .manual && !history.state(on: 1).willRenew && history.state(on: 1).status == .active)
        history.add(.grant(entitlement: "pro", until: .never), on: 2)
        #expect(history.state(on: 1000).isActive)
        history.add(.revocation(entitlement: "pro"), on: 1001)
        #expect(history.state(on: 1002).status == .revoked)
        history.add(.purchased, on: 1003, from: 1003, to: 1033)
        history.add(.revocation(entitlement: nil), on: 1004)
        history.add(.uncancelled, on: 1005, from: 1003, to: 1033)
        #expect(!history.state(on: 1006).isActive)
        history.add(.renewed, on: 1033, from: 1033, to: 1063)
        #expect(history.state(on: 1034).isActive)
    }

    private func observation(
        _ product: String, to: Double, reference: PurchaseReference? = nil, end: PurchaseObservation.End? = nil, isFinal: Bool = false,
        replaces: String? = nil
    ) -> PurchaseObservation {
        PurchaseObservation(
            reference: reference ?? self.reference(nil),
            period: BillingPeriod(product: product, entitlements: ["pro"], purchasedAt: day(0), expiry: .at(day(to))),
            willRenew: true, end: end, isFinal: isFinal, replaces: replaces)
    }

    @Test("a snapshot corrects the state after lost events, and later events apply to its purchases")
    mutating func snapshot() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.purchased, on: 0, from: 0, to: 300, ["gone"], product: "gone", reference: reference("gone"))
        history.add(.snapshot([observation("monthly", to: 60)]), on: 31)
        #expect(history.state(on: 32).isActive && !history.state(on: 32, "gone").isActive)
        history.add(.refunded, on: 33, from: 30, to: 33)
        #expect(history.state(on: 34).status == .refunded)
    }

    @Test("RevenueCat's snapshot keeps purchases that only their store reported, and takes over those that it lists")
    mutating func directPurchases() {
        let web = reference("s", .stripe)
        let period = BillingPeriod(product: "web", entitlements: ["web"], purchasedAt: day(0), expiry: .at(day(300)))
        history.events.append(
            BillingEvent(
                source: .stripe, id: "bought", occurredAt: day(0), subject: [BillingHistory.user],
                change: .purchase(web, .purchased, period)))
        history.add(.snapshot([observation("monthly", to: 60)]), on: 1)
        #expect(history.state(on: 2, "web").isActive && history.state(on: 2, "pro").isActive)
        history.add(.snapshot([observation("web", to: 300, reference: web)]), on: 3)
        #expect(history.state(on: 4, "pro").product == "web")
        history.add(.snapshot([]), on: 5)
        #expect(!history.state(on: 6).isActive)
    }

    @Test("an observation replaces the state of its purchase; a final one stays")
    mutating func observation() {
        let play = reference("token", .playStore)
        history.add(.observation(observation("monthly", to: 30, reference: play)), on: 0)
        history.add(.observation(observation("monthly", to: 60, reference: play)), on: 30)
        #expect(history.state(on: 31).isActive)
        let next = reference("next", .playStore)
        history.add(.observation(observation("yearly", to: 400, reference: next, replaces: "token")), on: 32)
        #expect(history.state(on: 33).product == "yearly" && history.state(on: 59).product == "yearly")
        history.add(.observation(observation("yearly", to: 400, reference: next, end: .expired, isFinal: true)), on: 40)
        history.add(.observation(observation("yearly", to: 400, reference: next)), on: 41)
        #expect(history.state(on: 42).status == .expired)
    }
}
