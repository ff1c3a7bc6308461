/// What a billing event changes.
public enum BillingChange: Hashable, Sendable {
    /// An event of one purchase.
    case purchase(PurchaseReference, PurchaseEvent, BillingPeriod)
    /// The whole state of one purchase, as a store returned it.
    case observation(PurchaseObservation)
    /// The whole state of all purchases of the subscriber at stores, as RevenueCat returned it. Purchases that it does not list are gone, except for
    /// those that an operator revoked and those that it cannot list (`Purchase+snapshot.swift`).
    case snapshot([PurchaseObservation])
    /// The purchases of one subscriber now belong to another: those of `store` and `environment`, nil for any. Manual grants stay.
    case transfer(from: [SubscriberID], to: [SubscriberID], store: BillingStore?, environment: BillingEnvironment?)
    /// An operator granted an entitlement.
    case grant(entitlement: String, until: Expiry)
    /// An operator ended an entitlement, nil for all, of any origin. A later purchase or renewal is valid again; what a store says of an
    /// earlier one is not.
    case revocation(entitlement: String?)
    /// A payment paid an invoice: a refund names the payment, a renewal the invoice (Stripe).
    case payment(String, invoice: String)
    /// The ids of `subject` belong to one subscriber; nothing else.
    case identity

    /// Order among events of the same instant. The order of a subscription's life, so that the billing issue, cancellation and expiration
    /// that RevenueCat sends at once end in an expiration; what restores access comes last.
    var rank: Int {
        switch self {
        case .payment: 0
        case .purchase(_, let event, _): event.rank
        case .observation: 20
        case .snapshot: 21
        case .transfer: 22
        case .revocation: 23
        case .grant: 24
        case .identity: 25
        }
    }
}

/// An event in the life of one purchase. The names are RevenueCat's.
public enum PurchaseEvent: Hashable, Sendable {
    /// The store could not be reached to validate a purchase; access for at most 24 h.
    case temporaryGrant
    case purchased
    /// Announces the next product, which a purchase or renewal makes effective. Informational by itself. nil: the store made the change at once,
    /// and the event does not name the product (Play).
    case productChange(to: String?)
    /// Takes effect with the expiration that follows.
    case pauseScheduled
    /// Access lasts until the end of the grace period, if the store gives one.
    case billingIssue(graceUntil: BillingInstant?)
    /// Automatic renewal was switched off; access lasts until the expiry.
    case cancelled
    case expired(paused: Bool)
    /// Access ends at once.
    case refunded
    case uncancelled
    case extended
    case renewed
    case refundReversed

    var rank: Int {
        switch self {
        case .temporaryGrant: 0
        case .purchased: 1
        case .productChange: 2
        case .pauseScheduled: 3
        case .billingIssue: 4
        case .cancelled: 5
        case .expired: 6
        case .refunded: 7
        case .uncancelled: 8
        case .extended: 9
        case .renewed: 10
        case .refundReversed: 11
        }
    }
}

/// Names a purchase. Events of one purchase share the original transaction; events without transaction ids are matched by product.
public struct PurchaseReference: Hashable, Sendable {
    public var environment: BillingEnvironment
    public var store: BillingStore
    /// Id of the first transaction of a subscription, the same for all its renewals.
    public var originalTransaction: String?
    public var transaction: String?
    /// The invoice of the period, whose payment is the transaction (Stripe).
    public var invoice: String?

    public init(
        environment: BillingEnvironment, store: BillingStore, originalTransaction: String? = nil, transaction: String? = nil,
        invoice: String? = nil
    ) {
        self.environment = environment
        self.store = store
        self.originalTransaction = originalTransaction
        self.transaction = transaction
        self.invoice = invoice
    }
}

/// An event's information about its paid period. nil: unknown.
public struct BillingPeriod: Hashable, Sendable {
    public var product: String?
    /// Sorted, without duplicates.
    public var entitlements: [String]
    public var isTrial: Bool
    /// False for purchases that the store does not renew.
    public var renews: Bool
    public var purchasedAt: BillingInstant?
    public var expiry: Expiry?

    public init(
        product: String? = nil, entitlements: [String] = [], isTrial: Bool = false, renews: Bool = true,
        purchasedAt: BillingInstant? = nil, expiry: Expiry? = nil
    ) {
        self.product = product
        self.entitlements = Set(entitlements).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        self.isTrial = isTrial
        self.renews = renews
        self.purchasedAt = purchasedAt
        self.expiry = expiry
    }

    /// Whether an event with this period need not be of a subscription or of anything else that gives access: it may be of a consumable product, or of a
    /// payment of which it does not say what was paid (Stripe).
    var isOfNoSubscription: Bool { entitlements.isEmpty && (expiry == nil || !renews) }
}

/// The whole state of one purchase, as a store returned it.
public struct PurchaseObservation: Hashable, Sendable {
    /// Why the purchase gives no access, whatever its expiry.
    public enum End: Hashable, Sendable {
        /// Not paid, or the subscription is over.
        case expired
        case paused
        case refunded
    }

    public var reference: PurchaseReference
    public var period: BillingPeriod
    /// False when automatic renewal is switched off.
    public var willRenew: Bool
    public var hasBillingIssue: Bool
    public var graceUntil: BillingInstant?
    public var end: End?
    /// When `end` took effect; nil for the time of the observation.
    public var endedAt: BillingInstant?
    /// No later state of this purchase is valid, because the store closes it for good (Stripe's `canceled`).
    public var isFinal: Bool
    /// Original transaction of the purchase that this one replaces (Play's `linkedPurchaseToken`).
    public var replaces: String?
    /// A payment was refunded without ending the purchase (Play). Access goes on, as the store decided.
    public var hasRefund: Bool
    /// The payment of the period is overdue: access lasts until `graceUntil` alone, unless an invoice of the period is known to have been paid
    /// (Stripe, where a failed payment of a change in the middle of a period looks the same).
    public var isUnpaid: Bool

    public init(
        reference: PurchaseReference, period: BillingPeriod, willRenew: Bool, hasBillingIssue: Bool = false,
        graceUntil: BillingInstant? = nil, end: End? = nil, endedAt: BillingInstant? = nil, isFinal: Bool = false, replaces: String? = nil,
        hasRefund: Bool = false, isUnpaid: Bool = false
    ) {
        self.reference = reference
        self.period = period
        self.willRenew = willRenew
        self.hasBillingIssue = hasBillingIssue
        self.graceUntil = graceUntil
        self.end = end
        self.endedAt = endedAt
        self.isFinal = isFinal
        self.replaces = replaces
        self.hasRefund = hasRefund
        self.isUnpaid = isUnpaid
    }
}
