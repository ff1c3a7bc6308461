/// What operators count of one event: the beginning, continuation or end of a purchase.
public struct BillingFigures: Hashable, Sendable {
    /// Raw values are those of the database.
    public enum Kind: String, Sendable, CaseIterable {
        case trial, purchase, renewal, `extension`, cancellation, refund, expiration
        /// Takes back the newest refund of the purchase before it, whatever its own price.
        case refundReversal = "refund_reversal"
        /// A state of a purchase that is not over, as the store returned it. Several are known of one period.
        case state
        /// The same, asked for because a payment was refunded (Play). The price is not known.
        case refundedState = "refunded_state"
        /// A payment of Stripe for a period, the first one or a later one.
        case payment
        /// Says nothing but which payment paid an invoice.
        case paymentLink = "payment_link"
        /// Says nothing but that another purchase of the subscriber may continue this one (RevenueCat): that of `product`, nil when it is not named.
        case productChange = "product_change"
    }

    public var kind: Kind
    /// The same for all events of a purchase, except that a refund of Stripe has the payment's.
    public var purchase: String
    /// Payment and invoice by which a refund of Stripe finds its purchase.
    public var payment: String?
    public var invoice: String?
    /// The purchase that this one replaces.
    public var replaces: String?
    public var store: BillingStore
    public var product: String?
    /// Order among events of the same instant, as the fold has it.
    public var rank: Int
    /// nil when the event names no price in US dollars.
    public var price: Nanodollars?
    public var periodStart: BillingInstant?
    public var periodEnd: Expiry?
    public var renews: Bool
    /// False when automatic renewal is switched off; nil when the event does not say it.
    public var willRenew: Bool?

    /// nil for events that are not counted: those of the sandbox, manual ones, and those that change no period.
    public init?(_ event: BillingEvent, price: Nanodollars?) {
        let reference: PurchaseReference
        let period: BillingPeriod
        switch event.change {
        case .purchase(let named, let purchaseEvent, let paid):
            guard let kind = Kind(purchaseEvent, paid, of: event.source) else { return nil }
            // The sale of a consumable product is not counted either. A refund of Stripe is found by its payment.
            if kind == .refund, paid.isOfNoSubscription, event.source != .stripe { return nil }
            (reference, period, self.kind) = (named, paid, kind)
            periodEnd = period.expiry
            product = if case .productChange(let next) = purchaseEvent { next } else { paid.product }
        case .observation(let observation):
            (reference, period, kind) = (observation.reference, observation.period, Kind(observation))
            product = period.product
            // While a payment is overdue nothing is paid; Google Play's expiry is then that of the grace period.
            periodEnd = observation.hasBillingIssue ? .at(event.occurredAt) : period.expiry
            replaces = observation.replacedReference?.originalTransaction
            if observation.end == nil, period.renews { willRenew = observation.willRenew }
        case .payment(let payment, let invoice):
            // Only Stripe has such events, and no sandbox invoice is counted.
            (reference, period, kind) = (
                PurchaseReference(environment: .production, store: .stripe, transaction: payment, invoice: invoice), BillingPeriod(),
                .paymentLink
            )
        case .snapshot, .transfer, .grant, .revocation, .identity: return nil
        }
        guard reference.environment == .production, reference.store != .manual else { return nil }
        store = reference.store
        // Without a transaction a purchase is the owner's of the product, as in the fold.
        let owned = [event.subject.first?.text, period.product].compactMap { $0 }.joined(separator: " ")
        purchase = reference.originalTransaction ?? reference.transaction ?? (owned.isEmpty ? event.id : owned)
        if event.source == .stripe { (payment, invoice) = (reference.transaction, reference.invoice) }
        rank = event.change.rank * 256 + Int(event.sequence)
        self.price = price
        periodStart = period.purchasedAt
        renews = period.renews
    }
}

extension BillingFigures.Kind {
    fileprivate init?(_ event: PurchaseEvent, _ period: BillingPeriod, of source: BillingSource) {
        switch event {
        case .purchased: self = period.isTrial ? .trial : .purchase
        // Stripe's paid invoices do not say whether they are the first ones.
        case .renewed: self = source == .stripe ? .payment : .renewal
        case .extended, .uncancelled: self = .extension
        case .refundReversed: self = .refundReversal
        case .cancelled: self = .cancellation
        case .refunded: self = .refund
        case .expired: self = .expiration
        // At the App Store the purchase stays the same.
        case .productChange where source == .revenuecat: self = .productChange
        case .temporaryGrant, .productChange, .pauseScheduled, .billingIssue: return nil
        }
    }

    fileprivate init(_ observation: PurchaseObservation) {
        switch observation.end {
        case nil where observation.hasRefund: self = .refundedState
        case nil: self = observation.period.isTrial ? .trial : .state
        case .expired, .paused: self = .expiration
        case .refunded: self = .refund
        }
    }
}
