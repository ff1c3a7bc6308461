import CoachCore
import Testing

/// Times are in days, as in `BillingHistory`.
@Suite("A change of product for which the store begins a new subscription")
struct ProductChangeTests {
    private static let minute = 1.0 / 1440

    private var history = BillingHistory()

    init() { history.reference = Self.reference("old") }

    private static func reference(_ transaction: String) -> PurchaseReference {
        PurchaseReference(environment: .production, store: .playStore, originalTransaction: transaction, transaction: transaction)
    }

    private mutating func buyOld() { history.add(.purchased, on: 0, from: 0, to: 30, ["basic"], product: "sub:monthly") }

    private mutating func change(to product: String?, on day: Double) {
        history.add(.productChange(to: product), on: day, from: 0, to: 30, ["basic"], product: "sub:monthly")
    }

    private mutating func buyNew(_ event: PurchaseEvent = .purchased, on day: Double, product: String = "sub:yearly") {
        history.add(event, on: day, from: day, to: day + 365, ["plus"], product: product, reference: Self.reference("new"))
    }

    /// The same in both orders of arrival, and event by event.
    private func isActive(_ entitlement: String, on day: Double) -> Bool {
        let fold = history.fold
        var appended = EntitlementFold([])
        for event in history.events.sorted(by: { $0.occurredAt < $1.occurredAt }) where !appended.append(event) {
            // Of one instant, the event that is folded first was added last.
            appended = fold
        }
        #expect(fold == EntitlementFold(history.events.reversed()) && fold == appended)
        return history.state(on: day, entitlement).isActive
    }

    @Test(
        "ends the former one, whether its event is before, at the same instant as or after the purchase, and names the new product or not",
        arguments: [-Self.minute, 0, Self.minute], ["sub:yearly", nil])
    mutating func immediate(later: Double, product: String?) {
        buyOld()
        buyNew(on: 5)
        change(to: product, on: 5 + later)
        #expect(!isActive("basic", on: 6) && isActive("plus", on: 6))
        #expect(history.state(on: 6, "basic").expiresAt == BillingHistory.day(5))
        buyNew(.renewed, on: 370)
        #expect(isActive("plus", on: 371))
    }

    @Test("that is deferred leaves the former product until the end of its period, whatever other product is bought meanwhile")
    mutating func deferred() {
        buyOld()
        change(to: "sub:yearly", on: 5)
        history.add(
            .purchased, on: 5.001, from: 5.001, to: 35, ["extra"], product: "addon:monthly", reference: Self.reference("addon"))
        #expect(isActive("basic", on: 29))
        buyNew(.renewed, on: 30)
        #expect(!isActive("basic", on: 30) && isActive("plus", on: 31) && isActive("extra", on: 31))
    }

    @Test("that names no product does not end what was paid for when nothing was bought with it")
    mutating func unnamed() {
        buyOld()
        change(to: nil, on: 5)
        buyNew(on: 6)
        #expect(isActive("basic", on: 29) && isActive("plus", on: 29))
    }

    @Test("is not lost when a snapshot comes between the change and the purchase, or before both")
    mutating func snapshot() {
        func listed(_ product: String, _ transaction: String, from: Double, to: Double, _ entitlement: String) -> PurchaseObservation {
            PurchaseObservation(
                reference: PurchaseReference(environment: .production, store: .playStore, transaction: transaction),
                period: BillingPeriod(
                    product: product, entitlements: [entitlement], purchasedAt: BillingHistory.day(from),
                    expiry: .at(BillingHistory.day(to))),
                willRenew: true)
        }
        let old = listed("sub:monthly", "old", from: 0, to: 30, "basic")
        let new = listed("sub:yearly", "new", from: 5, to: 370, "plus")
        buyOld()
        var before = self
        change(to: "sub:yearly", on: 4.999)
        history.add(.snapshot([old]), on: 4.9995)
        buyNew(on: 5)
        #expect(!isActive("basic", on: 6) && isActive("plus", on: 6))
        before.history.add(.snapshot([old, new]), on: 5.001)
        before.buyNew(on: 5.002)
        before.change(to: "sub:yearly", on: 5.003)
        #expect(!before.isActive("basic", on: 6) && before.isActive("plus", on: 6))
    }
}
