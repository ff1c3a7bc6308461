/// What operators count of one event: the beginning, continuation or end of a purchase.
public struct BillingFigures: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case trial, purchase, renewal, `extension`, cancellation, refund, expiration
    }

    public var kind: Kind
    /// The same for all events of a purchase.
    public var purchase: String
    public var store: BillingStore
    public var product: String?
    public var occurredAt: BillingInstant
    /// nil when the event names no price in US dollars.
    public var price: Nanodollars?
    public var periodStart: BillingInstant?
    public var periodEnd: Expiry?
    public var renews: Bool

    /// nil for events that are not counted: those of the sandbox, manual ones, and those that report a state instead of a change.
    public init?(_ event: BillingEvent, price: Nanodollars?) {
        let reference: PurchaseReference
        let period: BillingPeriod
        switch event.change {
        case .purchase(let named, let purchaseEvent, let paid):
            guard let kind = Kind(purchaseEvent, paid) else { return nil }
            (reference, period, self.kind) = (named, paid, kind)
        case .observation(let observation):
            guard observation.end == .expired || observation.end == nil && observation.period.isTrial else { return nil }
            (reference, period, kind) = (observation.reference, observation.period, observation.end == nil ? .trial : .expiration)
        case .snapshot, .transfer, .grant, .revocation, .payment, .identity: return nil
        }
        guard reference.environment == .production, reference.store != .manual else { return nil }
        store = reference.store
        product = period.product
        let names = [reference.originalTransaction, reference.transaction, period.product, event.subject.first?.text]
        purchase = names.lazy.compactMap { $0 }.first ?? event.id
        occurredAt = event.occurredAt
        self.price = price
        periodStart = period.purchasedAt
        periodEnd = period.expiry
        renews = period.renews
    }
}

extension BillingFigures.Kind {
    fileprivate init?(_ event: PurchaseEvent, _ period: BillingPeriod) {
        switch event {
        case .purchased: self = period.isTrial ? .trial : .purchase
        case .renewed: self = .renewal
        case .extended, .uncancelled, .refundReversed: self = .extension
        case .cancelled: self = .cancellation
        case .refunded: self = .refund
        case .expired: self = .expiration
        case .temporaryGrant, .productChange, .pauseScheduled, .billingIssue: return nil
        }
    }
}
