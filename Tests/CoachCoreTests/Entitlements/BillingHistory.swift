import CoachCore

/// A list of billing events of one subscription, with short methods to add them. Times are in days after 2026-01-01T00:00:00Z.
struct BillingHistory {
    static let user = subscriber("7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b")
    static let otherUser = subscriber("0c9b8a7d-6e5f-4a3b-8c1d-2e3f4a5b6c7d")
    static let anonymous = subscriber("$RCAnonymousID:8069238d6049ce87cc529853916d624c")

    static func subscriber(_ text: String) -> SubscriberID { SubscriberID(text)! }

    static func day(_ days: Double) -> BillingInstant {
        BillingInstant(milliseconds: 1_767_225_600_000 + Int64(days * 86_400_000))!
    }

    var events: [BillingEvent] = []
    var subject = [Self.user]
    var reference = PurchaseReference(
        environment: .production, store: .appStore, originalTransaction: "1000", transaction: "1000")

    mutating func add(_ change: BillingChange, on day: Double, subject: [SubscriberID]? = nil) {
        events.append(
            BillingEvent(
                source: .revenuecat, id: "event-\(events.count)", occurredAt: Self.day(day), subject: subject ?? self.subject,
                change: change))
    }

    /// An event of a purchase whose period begins on the day `from` and ends on the day `to`.
    mutating func add(
        _ event: PurchaseEvent, on day: Double, from: Double? = nil, to: Double? = nil, _ entitlements: [String] = ["pro"],
        product: String? = "monthly", isTrial: Bool = false, renews: Bool = true, subject: [SubscriberID]? = nil,
        reference: PurchaseReference? = nil
    ) {
        let period = BillingPeriod(
            product: product, entitlements: entitlements, isTrial: isTrial, renews: renews, purchasedAt: from.map(Self.day),
            expiry: to.map { .at(Self.day($0)) })
        add(.purchase(reference ?? self.reference, event, period), on: day, subject: subject)
    }

    var fold: EntitlementFold { EntitlementFold(events) }

    func state(
        of subscriber: SubscriberID = Self.user, on day: Double, _ entitlement: String? = nil, includingSandbox: Bool = false
    ) -> EntitlementState {
        fold.state(of: subscriber, entitlement: entitlement, at: Self.day(day), includingSandbox: includingSandbox)
    }
}
