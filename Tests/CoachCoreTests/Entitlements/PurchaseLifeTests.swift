import CoachCore
import Testing

@Suite("The entitlement of one subscription")
struct PurchaseLifeTests {
    private var history = BillingHistory()

    @Test("a purchase gives access until just before its expiry")
    mutating func purchase() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        let expiry = BillingHistory.day(30)
        let state = history.state(on: 1)
        #expect(state.isActive && state.status == .active && state.willRenew && !state.isTrial && !state.inGrace)
        #expect(state.entitlement == "pro" && state.product == "monthly" && state.store == .appStore && state.expiresAt == expiry)
        #expect(history.fold.state(of: BillingHistory.user, at: expiry.advanced(by: -1)).isActive)
        #expect(!history.fold.state(of: BillingHistory.user, at: expiry).isActive)
        #expect(history.state(on: 31).status == .expired && !history.state(on: 31).willRenew)
        #expect(history.state(of: BillingHistory.otherUser, on: 1) == .none)
    }

    @Test("access lasts three hours beyond the expiry while a renewal is expected, and not after a cancellation")
    mutating func renewalDelay() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        #expect(history.state(on: 1).accessUntil == .at(BillingHistory.day(30.125)))
        history.add(.cancelled, on: 2, from: 0, to: 30)
        #expect(history.state(on: 3).accessUntil == .at(BillingHistory.day(30)))
    }

    @Test("a trial is a trial until its renewal")
    mutating func trial() {
        history.add(.purchased, on: 0, from: 0, to: 7, isTrial: true)
        #expect(history.state(on: 1).isTrial && history.state(on: 1).status == .trial)
        history.add(.renewed, on: 7, from: 7, to: 37)
        #expect(!history.state(on: 8).isTrial && history.state(on: 8).status == .active)
    }

    @Test("a cancellation keeps access to the end of the period, and can be reversed")
    mutating func cancellation() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.cancelled, on: 5, from: 0, to: 30)
        #expect(history.state(on: 29).isActive && !history.state(on: 29).willRenew && history.state(on: 29).status == .cancelled)
        #expect(!history.state(on: 30).isActive)
        history.add(.uncancelled, on: 6, from: 0, to: 30)
        #expect(history.state(on: 29).willRenew && history.state(on: 29).status == .active)
    }

    @Test("a billing issue keeps access for the grace period; its expiration ends it, its renewal restores it")
    mutating func billingIssue() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.billingIssue(graceUntil: BillingHistory.day(46)), on: 30, from: 0, to: 30)
        let state = history.state(on: 40)
        #expect(state.isActive && state.inGrace && state.status == .grace && state.expiresAt == BillingHistory.day(46))
        #expect(state.accessUntil == .at(BillingHistory.day(46)))
        #expect(!history.state(on: 46).isActive)
        var recovered = history
        recovered.add(.renewed, on: 41, from: 41, to: 71)
        #expect(recovered.state(on: 42).status == .active && !recovered.state(on: 42).inGrace)
        history.add(.expired(paused: false), on: 41, from: 0, to: 30)
        #expect(!history.state(on: 42).isActive && history.state(on: 42).status == .expired)
    }

    @Test("a billing issue without a grace period does not end access by itself")
    mutating func noGrace() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.billingIssue(graceUntil: nil), on: 20, from: 0, to: 30)
        #expect(history.state(on: 21).isActive && !history.state(on: 21).inGrace)
        #expect(!history.state(on: 30).isActive)
    }

    @Test("billing issue, cancellation, expiration and renewal at one instant give the same state in every order")
    mutating func sameInstant() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.billingIssue(graceUntil: nil), on: 30, from: 0, to: 30)
        history.add(.cancelled, on: 30, from: 0, to: 30)
        history.add(.expired(paused: false), on: 30, from: 0, to: 30)
        #expect(history.state(on: 31).status == .expired)
        history.add(.renewed, on: 30, from: 30, to: 60)
        #expect(history.state(on: 31).status == .active)
    }

    @Test("a refund ends access at once; neither uncancelling nor extending restores it")
    mutating func refund() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.refunded, on: 5, from: 0, to: 30)
        #expect(history.fold.state(of: BillingHistory.user, at: BillingHistory.day(5)).status == .refunded)
        history.add(.uncancelled, on: 6, from: 0, to: 30)
        history.add(.extended, on: 7, from: 0, to: 40)
        #expect(history.state(on: 8).status == .refunded && history.state(on: 8).expiresAt == BillingHistory.day(5))
        history.add(.expired(paused: false), on: 9, from: 0, to: 9)
        #expect(history.state(on: 10).status == .refunded)
    }

    @Test("a refund that is reversed, and a subscription bought again after a refund, give access")
    mutating func refundReversed() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.refunded, on: 5, from: 0, to: 5)
        var boughtAgain = history
        boughtAgain.add(.purchased, on: 8, from: 8, to: 38)
        #expect(boughtAgain.state(on: 9).status == .active)
        history.add(.refundReversed, on: 6, from: 0, to: 30)
        #expect(history.state(on: 7).status == .active && history.state(on: 7).expiresAt == BillingHistory.day(30))
    }

    @Test("events of an earlier period do not change the current one")
    mutating func earlierPeriod() {
        var first = history.reference
        history.add(.purchased, on: 0, from: 0, to: 30)
        first.transaction = "1000"
        var second = first
        second.transaction = "1001"
        history.add(.renewed, on: 30, from: 30, to: 60, reference: second)
        history.add(.expired(paused: false), on: 30.1, from: 0, to: 30, reference: first)
        history.add(.cancelled, on: 30.2, from: 0, to: 30, reference: first)
        history.add(.refunded, on: 31, from: 0, to: 30, reference: first)
        #expect(history.state(on: 32).status == .active && history.state(on: 32).expiresAt == BillingHistory.day(60))
    }

    @Test("the same where the store repeats one transaction over renewals; an end within the current period still counts")
    mutating func repeatedTransaction() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.renewed, on: 30, from: 30, to: 60)
        history.add(.expired(paused: false), on: 30.1, from: 0, to: 30)
        history.add(.cancelled, on: 30.2, from: 0, to: 30)
        history.add(.billingIssue(graceUntil: nil), on: 30.3, from: 0, to: 29)
        let state = history.state(on: 32)
        #expect(state.status == .active && state.willRenew && state.expiresAt == BillingHistory.day(60))
        history.add(.expired(paused: false), on: 33, from: 0, to: 33)
        #expect(history.state(on: 34).status == .expired)
    }

    @Test("a refund or expiration applies at once, even when the sender's clock is ahead")
    mutating func clockAhead() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        var refunded = history
        refunded.add(.refunded, on: 6, from: 0, to: 30)
        #expect(refunded.state(on: 5.9).status == .refunded && refunded.state(on: 5.9).accessUntil == nil)
        history.add(.expired(paused: false), on: 1, from: 0, to: 0)
        #expect(history.state(on: 2).status == .expired)
    }

    @Test("a pause keeps access until the announced expiration")
    mutating func pause() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.pauseScheduled, on: 5, from: 0, to: 30)
        #expect(history.state(on: 6).status == .active && !history.state(on: 6).willRenew)
        history.add(.expired(paused: true), on: 30, from: 0, to: 30)
        #expect(history.state(on: 31).status == .paused)
        history.add(.renewed, on: 90, from: 90, to: 120)
        #expect(history.state(on: 91).status == .active && history.state(on: 91).willRenew)
    }

    @Test("a product change takes effect with the renewal")
    mutating func deferredChange() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.productChange(to: "yearly"), on: 5, from: 0, to: 30)
        #expect(history.state(on: 6).product == "monthly")
        history.add(.renewed, on: 30, from: 30, to: 395, ["pro", "plus"], product: "yearly")
        #expect(history.state(on: 31).product == "yearly" && history.state(on: 31, "plus").isActive)
    }

    @Test("a product change that begins a new subscription ends the former one")
    mutating func immediateChange() {
        history.add(.purchased, on: 0, from: 0, to: 30, ["basic"])
        history.add(.productChange(to: "yearly"), on: 5, from: 0, to: 30, ["basic"])
        let next = PurchaseReference(environment: .production, store: .appStore, originalTransaction: "2000", transaction: "2000")
        history.add(.renewed, on: 5, from: 5, to: 370, ["plus"], product: "yearly", reference: next)
        #expect(history.state(on: 6, "plus").isActive && !history.state(on: 6, "basic").isActive)
    }

    @Test("an extension moves the expiry")
    mutating func extended() {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.extended, on: 5, from: 0, to: 45)
        #expect(history.state(on: 44).isActive && history.state(on: 44).willRenew && !history.state(on: 45).isActive)
    }

    @Test("a lifetime purchase does not expire, but can be refunded")
    mutating func lifetime() {
        let period = BillingPeriod(product: "forever", entitlements: ["pro"], renews: false, expiry: .never)
        history.add(.purchase(history.reference, .purchased, period), on: 0)
        let state = history.state(on: 20_000)
        #expect(state.isActive && state.expiresAt == nil && !state.willRenew && state.status == .active && state.accessUntil == .never)
        history.add(.refunded, on: 9, product: "forever")
        #expect(history.state(on: 10).status == .refunded)
    }

    @Test("the refund of a consumable product, or of a payment that is not known, is no refunded subscription")
    mutating func refundOfNoSubscription() {
        let coins = PurchaseReference(environment: .production, store: .appStore, originalTransaction: "9", transaction: "9")
        history.add(.refunded, on: 40, from: 39, [], product: "coins", reference: coins)
        history.add(.refunded, on: 41, from: 39, to: 41, [], product: "coins", renews: false, reference: coins)
        let payment = PurchaseReference(environment: .production, store: .stripe, transaction: "pi_1")
        history.add(.refunded, on: 42, from: 39, [], product: nil, reference: payment)
        #expect(history.state(on: 43) == EntitlementState.none)
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.expired(paused: false), on: 30, from: 0, to: 30)
        #expect(history.state(on: 43).status == .expired && history.state(on: 43).entitlement == "pro")
        history.add(.refunded, on: 44, from: 0, to: 30)
        #expect(history.state(on: 45).status == .refunded)
    }

    @Test("a lost purchase of which the refund is known was refunded")
    mutating func refundOfLostPurchase() {
        history.add(.refunded, on: 5, from: 0, to: 5)
        #expect(history.state(on: 6).status == .refunded && history.state(on: 6).entitlement == "pro")
    }

    @Test("a purchase whose first events were lost is created from later ones")
    mutating func lostPurchase() {
        history.add(.cancelled, on: 5, from: 0, to: 30)
        #expect(history.state(on: 6).status == .cancelled && history.state(on: 6).entitlement == "pro")
    }

    @Test("events without transaction ids are matched by product")
    mutating func byProduct() {
        let bare = PurchaseReference(environment: .production, store: .appStore)
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.expired(paused: false), on: 10, to: 10, reference: bare)
        #expect(history.state(on: 11).status == .expired)
        history.add(.renewed, on: 12, from: 12, to: 42, ["other"], product: "another", reference: bare)
        let named = PurchaseReference(environment: .production, store: .appStore, originalTransaction: "2000")
        history.add(.refunded, on: 13, product: "another", reference: named)
        #expect(history.state(on: 14, "other").status == .refunded)
    }

    @Test("events that name neither a transaction nor a product are about the only purchase that runs, or the latest one without a product")
    mutating func unnamed() {
        let bare = PurchaseReference(environment: .production, store: .appStore)
        let otherStore = PurchaseReference(environment: .production, store: .playStore)
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.cancelled, on: 5, product: nil, reference: bare)
        #expect(history.state(on: 6).status == .cancelled)
        history.add(.expired(paused: false), on: 10, to: 10, product: nil, reference: bare)
        #expect(history.state(on: 11).status == .expired)

        history.events = []
        history.add(.purchased, on: 0, from: 0, to: 30, product: nil, reference: bare)
        history.add(.purchased, on: 0, from: 0, to: 5, product: nil, reference: otherStore)
        history.add(.expired(paused: false), on: 10, to: 10, product: nil, reference: bare)
        #expect(history.state(on: 11).status == .expired)
        history.add(.renewed, on: 12, from: 12, to: 42, product: nil, reference: bare)
        #expect(history.state(on: 13).status == .active)
        history.add(.refunded, on: 14, to: 14, product: nil, reference: bare)
        #expect(history.state(on: 15).status == .refunded)
    }
}
