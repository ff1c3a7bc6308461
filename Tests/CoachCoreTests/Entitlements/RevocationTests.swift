import CoachCore
import TestSupport
import Testing

/// Times are in days, as in `BillingHistory`.
@Suite("An operator's revocation")
struct RevocationTests {
    private var history = BillingHistory()
    private let day = BillingHistory.day

    private func observation(
        from: Double?, to: Double, product: String = "monthly", reference: PurchaseReference? = nil, hasBillingIssue: Bool = false,
        end: PurchaseObservation.End? = nil
    ) -> PurchaseObservation {
        PurchaseObservation(
            // RevenueCat's answer has no original transactions.
            reference: reference ?? PurchaseReference(environment: .production, store: .appStore),
            period: BillingPeriod(product: product, entitlements: ["pro"], purchasedAt: from.map(day), expiry: .at(day(to))),
            willRenew: true, hasBillingIssue: hasBillingIssue, end: end)
    }

    private mutating func revoke(on day: Double = 5) {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.revocation(entitlement: nil), on: day)
    }

    /// The state after these changes, in every order of arrival; nil when it is not the same in all.
    private func status(on day: Double) -> EntitlementState.Status? {
        let states = Set(
            [history.events, history.events.reversed()].map { EntitlementFold($0).state(of: BillingHistory.user, at: self.day(day)) })
        return states.count == 1 ? states.first?.status : nil
    }

    @Test("RevenueCat's snapshot, whatever event caused it, does not undo it; a renewal that the snapshot shows does")
    mutating func snapshot() {
        revoke()
        history.add(.cancelled, on: 6, from: 0, to: 30)
        history.add(.snapshot([observation(from: 0, to: 30)]), on: 6.1)
        history.add(.snapshot([observation(from: 0, to: 40, end: .expired)]), on: 6.2)
        history.add(.snapshot([observation(from: 0, to: 40)]), on: 6.3)
        history.add(.snapshot([observation(from: nil, to: 40)]), on: 6.4)
        #expect(status(on: 7) == .revoked)
        var renewed = history
        renewed.add(.snapshot([observation(from: 30, to: 60)]), on: 31)
        #expect(renewed.state(on: 32).status == .active)
        history.add(.snapshot([observation(from: 6, to: 60, product: "yearly")]), on: 31)
        #expect(history.state(on: 32).product == "yearly", "another purchase is valid")
    }

    @Test("a purchase that is not listed for a while is still revoked when it is listed again")
    mutating func unlisted() {
        revoke()
        history.add(.snapshot([]), on: 6)
        history.add(.snapshot([observation(from: 0, to: 30)]), on: 7)
        #expect(status(on: 8) == .revoked && history.fold.state(of: BillingHistory.user, at: day(8)).accessUntil == nil)
    }

    @Test("a store's state of the purchase does not undo it, unless the period was paid for after it")
    mutating func stripe() {
        let subscription = PurchaseReference(environment: .production, store: .stripe, originalTransaction: "sub_1")
        func add(from: Double, to: Double, on day: Double) {
            history.events.append(
                BillingEvent(
                    source: .stripe, id: "s\(day)", occurredAt: self.day(day), subject: [BillingHistory.user],
                    change: .observation(observation(from: from, to: to, reference: subscription))))
        }
        add(from: 0, to: 30, on: 0)
        history.add(.revocation(entitlement: "pro"), on: 5)
        add(from: 0, to: 30, on: 6)
        #expect(status(on: 7) == .revoked)
        add(from: 30, to: 60, on: 30)
        #expect(status(on: 31) == .active)
    }

    @Test("a purchase of Google Play, whose start never changes, is valid again with its next renewal, and not while a payment is overdue")
    mutating func play() {
        let token = PurchaseReference(environment: .production, store: .playStore, originalTransaction: "token")
        func add(to: Double, on day: Double, hasBillingIssue: Bool = false) {
            history.events.append(
                BillingEvent(
                    source: .play, id: "p\(day)", occurredAt: self.day(day), subject: [BillingHistory.user],
                    change: .observation(observation(from: 0, to: to, reference: token, hasBillingIssue: hasBillingIssue))))
        }
        add(to: 30, on: 0)
        history.add(.revocation(entitlement: nil), on: 5)
        add(to: 30, on: 6)
        add(to: 32, on: 7)
        add(to: 38, on: 32, hasBillingIssue: true)
        #expect(status(on: 33) == .revoked)
        add(to: 68, on: 37.5)
        #expect(status(on: 38) == .active)
    }

    @Test("neither a reversed refund nor the late event of the revoked period undoes it")
    mutating func refundReversed() {
        revoke()
        history.add(.refunded, on: 6, to: 6)
        history.add(.refundReversed, on: 7, from: 0, to: 30)
        history.add(.extended, on: 8, from: 0, to: 40)
        history.add(.renewed, on: 9, from: 4, to: 34)
        #expect(status(on: 10) == .revoked)
        history.add(.renewed, on: 34, from: 34, to: 64)
        #expect(status(on: 35) == .active)
    }

    @Test("a purchase that had expired is still revoked when the store opens it again")
    mutating func reopened() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.expired(paused: false), on: 4, to: 4)
        history.add(.revocation(entitlement: nil), on: 5)
        #expect(status(on: 6) == .expired)
        history.add(.uncancelled, on: 7, from: 0, to: 30)
        #expect(status(on: 8) == .revoked)
    }

    @Test("an invoice of Stripe that is paid after it opens the purchase, though its period began before", arguments: [33, 40])
    mutating func latePayment(revokedOn: Double) {
        let subscription = PurchaseReference(environment: .production, store: .stripe, originalTransaction: "sub_1")
        func add(_ change: BillingChange, on day: Double) {
            history.events.append(
                BillingEvent(
                    source: .stripe, id: "s\(day)", occurredAt: self.day(day), subject: [BillingHistory.user], change: change))
        }
        add(.observation(observation(from: 0, to: 30, reference: subscription)), on: 0)
        var overdue = observation(from: 30, to: 60, reference: subscription, hasBillingIssue: true)
        overdue.isUnpaid = true
        overdue.graceUntil = day(37)
        add(.observation(overdue), on: 31)
        add(.observation(observation(from: 30, to: 60, reference: subscription, end: .expired)), on: 38)
        history.add(.revocation(entitlement: "pro"), on: revokedOn)
        #expect(status(on: 44) != .active)
        var paid = subscription
        paid.invoice = "in_2"
        add(.purchase(paid, .renewed, BillingPeriod(purchasedAt: day(30), expiry: .at(day(60)))), on: 45)
        #expect(status(on: 46) == .active)
    }

    @Test("a purchase of Google Play that was on hold or overdue is valid again when it is paid", arguments: [true, false])
    mutating func playRecovery(isOnHold: Bool) {
        let token = PurchaseReference(environment: .production, store: .playStore, originalTransaction: "token")
        func add(_ observation: PurchaseObservation, on day: Double) {
            history.events.append(
                BillingEvent(
                    source: .play, id: "p\(day)", occurredAt: self.day(day), subject: [BillingHistory.user],
                    change: .observation(observation)))
        }
        add(observation(from: 0, to: 30, reference: token), on: 0)
        history.add(.revocation(entitlement: nil), on: isOnHold ? 40 : 5)
        let end: PurchaseObservation.End? = isOnHold ? .expired : nil
        add(observation(from: 0, to: isOnHold ? 30 : 37, reference: token, hasBillingIssue: true, end: end), on: 30)
        #expect(status(on: 41) != .active)
        add(observation(from: 0, to: 75, reference: token), on: isOnHold ? 45 : 33)
        #expect(status(on: 46) == .active)
    }

    @Test("a second one counts when a payment that it did not know of undid the first")
    mutating func second() {
        revoke()
        history.add(.revocation(entitlement: nil), on: 10)
        history.add(.snapshot([observation(from: 8, to: 38)]), on: 12)
        #expect(status(on: 13) == .revoked)
    }

    @Test("a temporary grant gives access for a day, and leaves the purchase revoked")
    mutating func temporaryGrant() {
        revoke()
        history.add(.temporaryGrant, on: 6, to: 7)
        #expect(history.state(on: 6.5).isActive && !history.state(on: 7).isActive)
        history.add(.snapshot([observation(from: 0, to: 30)]), on: 7)
        #expect(status(on: 8) == .revoked)
    }

    @Test("of one entitlement it leaves the purchase's others, at the gate and in the stored form, too")
    mutating func oneEntitlement() throws {
        let bundle = PurchaseObservation(
            reference: PurchaseReference(environment: .production, store: .appStore),
            period: BillingPeriod(product: "bundle", entitlements: ["plus", "pro"], purchasedAt: day(0), expiry: .at(day(30))),
            willRenew: true)
        history.add(.snapshot([bundle]), on: 1)
        history.add(.revocation(entitlement: "plus"), on: 5)
        let fold = try EntitlementFold(parsing: history.fold.json.bytes)
        #expect(fold == history.fold)
        let user = BillingHistory.user
        #expect(fold.state(of: user, entitlement: "plus", at: day(6)).status == .revoked)
        #expect(fold.state(of: user, entitlement: "pro", at: day(6)).isActive)
        #expect(fold.state(of: user, at: day(6)).entitlement == "pro")
        let stored = try #require(fold.entitlements(of: fold.subscriberIDs, includingSandbox: false).first)
        #expect(Set(stored.paidUntil.keys) == ["pro"])
        // Neither the store's next answer nor its silence gives it back.
        history.add(.snapshot([bundle]), on: 7)
        #expect(history.fold.state(of: user, entitlement: "plus", at: day(8)).status == .revoked)
        #expect(history.fold.state(of: user, entitlement: "pro", at: day(8)).isActive)
        history.add(.snapshot([]), on: 9)
        #expect(!history.fold.state(of: user, entitlement: "pro", at: day(10)).isActive)
        history.add(.revocation(entitlement: "pro"), on: 11)
        history.add(.snapshot([bundle]), on: 12)
        #expect(status(on: 13) == .revoked)
    }

    @Test("a later purchase stays valid whatever arrives first")
    mutating func laterPurchase() {
        revoke()
        history.add(.purchased, on: 8, from: 8, to: 38)
        history.add(.snapshot([observation(from: 8, to: 38)]), on: 9)
        #expect(status(on: 10) == .active)
    }
}

@Suite("A purchase that another one replaced")
struct ReplacedPurchaseTests {
    private let day = BillingHistory.day

    private func looked(
        _ token: String, on day: Double, to: Double, replaces: String? = nil, environment: BillingEnvironment = .production
    ) -> BillingEvent {
        let reference = PurchaseReference(environment: environment, store: .playStore, originalTransaction: token)
        let period = BillingPeriod(product: token, entitlements: [token], purchasedAt: self.day(0), expiry: .at(self.day(to)))
        return BillingEvent(
            source: .play, id: "\(token) \(day)", occurredAt: self.day(day), subject: [BillingHistory.user],
            change: .observation(PurchaseObservation(reference: reference, period: period, willRenew: true, replaces: replaces)))
    }

    private func isActive(_ token: String, _ events: [BillingEvent]) -> Bool {
        EntitlementFold(events).state(of: BillingHistory.user, entitlement: token, at: day(20)).isActive
    }

    @Test("stays ended when its store still says that it is active, also when it is seen later than the new one")
    func ended() throws {
        let new = looked("new", on: 2, to: 60, replaces: "old")
        let histories = [
            [looked("old", on: 1, to: 30), new], [looked("old", on: 1, to: 30), new, looked("old", on: 3, to: 30)],
            [new, looked("old", on: 3, to: 30)], [new, looked("newer", on: 4, to: 90, replaces: "new"), looked("old", on: 5, to: 30)],
        ]
        for (number, events) in histories.enumerated() {
            for arrivals in [events, events.reversed()] {
                #expect(!isActive("old", arrivals), "\(number)")
                #expect(isActive(number == 3 ? "newer" : "new", arrivals), "\(number)")
            }
            // The stored form keeps it, too.
            var fold = EntitlementFold([])
            for event in events {
                fold = try EntitlementFold(parsing: fold.json.bytes)
                let isAppended = fold.append(event)
                #expect(isAppended)
            }
            #expect(fold == EntitlementFold(events))
        }
    }

    @Test("is one of the same environment, and never the new one itself")
    func other() {
        let sandbox = looked("old", on: 1, to: 30, environment: .sandbox)
        let events = [sandbox, looked("new", on: 2, to: 60, replaces: "old")]
        let state = EntitlementFold(events).state(of: BillingHistory.user, entitlement: "old", at: day(20), includingSandbox: true)
        #expect(state.isActive)
        #expect(isActive("self", [looked("self", on: 1, to: 30, replaces: "self"), looked("self", on: 2, to: 30)]))
    }
}
