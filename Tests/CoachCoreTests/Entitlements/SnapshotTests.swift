import CoachCore
import Testing

/// Times are in days, as in `BillingHistory`.
@Suite("RevenueCat's snapshot of a subscriber")
struct SnapshotTests {
    private static let minute = 1.0 / 1440

    private var history = BillingHistory()
    private let day = BillingHistory.day

    private func listed(
        _ product: String = "monthly", from: Double = 0, to: Double, _ transaction: String? = nil, store: BillingStore = .appStore,
        environment: BillingEnvironment = .production, end: PurchaseObservation.End? = nil, endedAt: Double? = nil
    ) -> PurchaseObservation {
        PurchaseObservation(
            reference: PurchaseReference(environment: environment, store: store, transaction: transaction),
            period: BillingPeriod(product: product, entitlements: ["pro"], purchasedAt: day(from), expiry: .at(day(to))),
            willRenew: true, end: end, endedAt: endedAt.map(day))
    }

    /// Of whole folds in both orders of arrival, and of one that appends each event to the stored form; nil when they differ.
    private func state(of subscriber: SubscriberID = BillingHistory.user, on day: Double) throws -> EntitlementState? {
        var appended = EntitlementFold([])
        for event in history.events {
            appended = try EntitlementFold(parsing: appended.json.bytes)
            guard appended.append(event) else { return nil }
        }
        let folds = [history.fold, EntitlementFold(history.events.reversed()), appended]
        guard folds.allSatisfy({ $0 == folds[0] }) else { return nil }
        return folds[0].state(of: subscriber, at: self.day(day))
    }

    @Test("a temporary grant survives one that lists nothing, until its own end", arguments: [nil, "t9"])
    mutating func grant(transaction: String?) throws {
        let reference = PurchaseReference(environment: .production, store: .appStore, transaction: transaction)
        history.add(.temporaryGrant, on: 1, product: transaction.map { _ in "monthly" }, reference: reference)
        history.add(.snapshot([]), on: 1 + Self.minute)
        history.add(.snapshot([listed(from: -40, to: -10, "t1")]), on: 1 + 2 * Self.minute)
        let granted = try state(on: 1.99)
        #expect(granted?.isActive == true && granted?.expiresAt == day(2))
        #expect(try state(on: 2)?.isActive == false)
        var bought = history
        let named = PurchaseReference(environment: .production, store: .appStore, transaction: "t9")
        bought.add(.purchased, on: 1.1, from: 1, to: 31, reference: named)
        #expect(bought.state(on: 30).isActive)
        history.add(.snapshot([]), on: 2.1)
        #expect(try state(on: 1.99)?.status == EntitlementState.Status.none, "it is forgotten after its end")
    }

    @Test("a purchase that a grant stood in for takes its place when it is listed")
    mutating func validated() throws {
        let reference = PurchaseReference(environment: .production, store: .appStore, transaction: "t9")
        history.add(.temporaryGrant, on: 1, reference: reference)
        history.add(.snapshot([listed(from: 1, to: 31, "t9")]), on: 1.1)
        history.add(.refunded, on: 1.2, from: 1, to: 1.2, reference: reference)
        #expect(try state(on: 1.3)?.status == .refunded)
    }

    @Test("a grant of a product that was bought before survives a snapshot with the product's former state, but not a refund since then")
    mutating func prolonged() throws {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.expired(paused: false), on: 30, from: 0, to: 30)
        history.add(.temporaryGrant, on: 40, reference: PurchaseReference(environment: .production, store: .appStore))
        history.add(.snapshot([listed(to: 30, end: .expired)]), on: 40 + Self.minute)
        #expect(try state(on: 40.9)?.isActive == true && state(on: 41)?.isActive == false)
        var refunded = history
        refunded.add(.snapshot([listed(to: 30, end: .refunded, endedAt: 40.2)]), on: 40.3)
        #expect(refunded.state(on: 40.4).status == .refunded)
        history.add(.snapshot([listed(from: 40, to: 70)]), on: 40.3)
        #expect(try state(on: 69)?.isActive == true)
    }

    @Test("an expiration that an event told of stays, with the gate closed, until the purchase lasts longer", arguments: [false, true])
    mutating func expired(paused: Bool) throws {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.billingIssue(graceUntil: nil), on: 30 - Self.minute, from: 0, to: 30)
        history.add(.expired(paused: paused), on: 30, from: 0, to: 30)
        history.add(.snapshot([listed(to: 30)]), on: 30 + Self.minute)
        let over = try state(on: 30 + 2 * Self.minute)
        #expect(over?.accessUntil == nil && over?.status == (paused ? .paused : .expired))
        history.add(.snapshot([listed(from: 30, to: 60)]), on: 30.1)
        #expect(try state(on: 59)?.isActive == true)
    }

    @Test("a renewal whose event was lost keeps the gate open when the snapshot is as old")
    mutating func late() throws {
        history.add(.purchased, on: 0, from: 0, to: 30)
        history.add(.snapshot([listed(to: 30)]), on: 30 + Self.minute)
        #expect(try state(on: 30 + 2 * Self.minute)?.accessUntil?.isAfter(day(30.1)) == true)
    }

    @Test("a running purchase stays when its product is listed with the sandbox or another store, until it ends or is listed itself")
    mutating func hidden() throws {
        for other in [listed(from: 5, to: 6, environment: .sandbox), listed(from: 5, to: 6, store: .playStore)] {
            history.events = []
            history.add(.purchased, on: 0, from: 0, to: 30)
            history.add(.snapshot([other]), on: 6)
            #expect(try state(on: 29)?.isActive == true)
            var gone = history
            gone.add(.snapshot([listed("other", to: 7)]), on: 7)
            #expect(!gone.state(on: 8).isActive)
            history.add(.snapshot([other]), on: 31)
            #expect(history.state(on: 29).store != .appStore, "it is over")
        }
    }

    @Test("a purchase that it names belongs to its subscriber, also when the event of the transfer was lost")
    mutating func lostTransfer() throws {
        history.add(.purchased, on: 0, from: 0, to: 30)
        // Both are known together since an earlier transfer.
        history.add(
            .transfer(from: [BillingHistory.user], to: [BillingHistory.otherUser], store: .playStore, environment: nil), on: 1, subject: [])
        history.add(.snapshot([listed(to: 30, "1000")]), on: 2, subject: [BillingHistory.otherUser])
        #expect(try state(on: 3)?.isActive == false && state(of: BillingHistory.otherUser, on: 3)?.isActive == true)
        history.add(.snapshot([listed(to: 30, "1000")]), on: 4, subject: [BillingHistory.user])
        #expect(try state(on: 5)?.isActive == true && state(of: BillingHistory.otherUser, on: 5)?.isActive == false)
    }
}
