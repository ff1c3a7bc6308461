/// The state of one subscription or one-time purchase after the events folded so far.
struct Purchase: Equatable {
    struct End: Equatable {
        enum Reason: String { case expired, paused, refunded, revoked, replaced }
        var at: BillingInstant
        var reason: Reason
    }

    /// A temporary grant lasts this long at most (RevenueCat, event types).
    static let longestTemporaryGrant: Int64 = 24 * 60 * 60 * 1000

    var reference: PurchaseReference
    var owner: SubscriberID
    var period: BillingPeriod
    /// Announced, not yet effective.
    var change: ProductChange?
    /// Automatic renewal is switched on.
    var willRenew: Bool
    var hasBillingIssue = false
    var graceUntil: BillingInstant?
    var isPauseScheduled = false
    /// The end that the store reported.
    var end: End?
    /// By operators (`Purchase+revocation.swift`).
    var revocations: [Revocation] = []
    /// The start of what the last paid invoice paid for (Stripe).
    var paidSince: BillingInstant?
    /// What paid for the present period before `reference` did (`Purchase+payments.swift`).
    var earlierPayments: [PurchaseReference] = []
    var isTemporary = false
    /// The end of a temporary grant, also of one that prolongs a purchase that was known before.
    var grantedUntil: BillingInstant?
    var isFinal = false
    /// Known from the store alone: RevenueCat, which does not list it, may not manage its app.
    var isDirect = false

    /// A purchase as its first known event describes it, which need not be the first one: the sender gives up after a few retries.
    init(reference: PurchaseReference, owner: SubscriberID, period: BillingPeriod) {
        self.reference = reference
        self.owner = owner
        self.period = period
        willRenew = period.renews
    }

    init(_ observation: PurchaseObservation, owner: SubscriberID, at instant: BillingInstant) {
        self.init(reference: observation.reference, owner: owner, period: observation.period)
        willRenew = observation.willRenew
        hasBillingIssue = observation.hasBillingIssue
        graceUntil = observation.graceUntil
        isFinal = observation.isFinal
        if observation.isUnpaid, let start = observation.period.purchasedAt { period.expiry = .at(start) }
        let reason: End.Reason? =
            switch observation.end {
            case nil: nil
            case .expired: .expired
            case .paused: .paused
            case .refunded: .refunded
            }
        end = reason.map { End(at: min(observation.endedAt ?? instant, instant), reason: $0) }
    }

    mutating func apply(_ event: PurchaseEvent, _ update: BillingPeriod, of paid: PurchaseReference, at instant: BillingInstant) {
        switch event {
        case .temporaryGrant: grantTemporarily(update, at: instant)
        case .productChange(let product): change = ProductChange(to: product, at: instant)
        case .uncancelled, .extended:
            // A refund stays until it is reversed or the subscription is bought or renewed again.
            if end?.reason == .expired || end?.reason == .paused { reopen(with: update) }
            if end == nil { period.expiry = update.expiry ?? period.expiry }
            if event == .uncancelled {
                willRenew = true
                isPauseScheduled = false
            }
        case .refundReversed: reopen(with: update)
        default:
            if belongsToEarlierPeriod(update, paid.transaction) || endsEarlierPeriod(event, update) { return }
            applyToCurrentPeriod(event, update, of: paid, at: instant)
        }
        // The payment of an earlier invoice is not that of this one.
        reference.transaction = paid.transaction ?? (paid.invoice == nil ? reference.transaction : nil)
        reference.invoice = paid.invoice ?? reference.invoice
    }

    private mutating func applyToCurrentPeriod(
        _ event: PurchaseEvent, _ update: BillingPeriod, of paid: PurchaseReference, at instant: BillingInstant
    ) {
        switch event {
        case .purchased, .renewed:
            let isOfPresentPeriod = paid.store == .stripe && includes(update)
            keepPayment(before: paid, isOfPresentPeriod: isOfPresentPeriod)
            let began = period.purchasedAt
            begin(update, isInvoice: paid.store == .stripe, at: instant)
            if isOfPresentPeriod { period.purchasedAt = began }
        case .pauseScheduled:
            isPauseScheduled = true
            describe(update)
        case .billingIssue(let grace):
            hasBillingIssue = true
            graceUntil = grace ?? graceUntil
            describe(update)
        case .cancelled:
            willRenew = false
            describe(update)
        case .expired(let paused): finish(paused ? .paused : .expired, update, at: instant)
        case .refunded: finish(.refunded, update, at: instant)
        case .temporaryGrant, .productChange, .uncancelled, .extended, .refundReversed: break  // Handled by `apply`.
        }
    }

    /// A paid period begins. An event without entitlements keeps those known before, in the user's favour. An invoice of Stripe may be paid long
    /// after the period began, and does not say whether it renews: one that was cancelled meanwhile stays so.
    private mutating func begin(_ update: BillingPeriod, isInvoice: Bool, at instant: BillingInstant) {
        let known = period.entitlements
        let isWithinKnown = update.purchasedAt.flatMap { start in period.expiry.map { .at(start) < $0 } } ?? false
        let cancelledExpiry = isInvoice && isWithinKnown && end == nil && !willRenew ? period.expiry : nil
        dropRevocations(before: isInvoice ? instant : update.purchasedAt)
        paidSince = isInvoice ? update.purchasedAt : nil
        period = update
        if update.entitlements.isEmpty { period.entitlements = known }
        willRenew = update.renews && cancelledExpiry == nil
        if let cancelledExpiry { period.expiry = min(cancelledExpiry, update.expiry ?? cancelledExpiry) }
        change = nil
        hasBillingIssue = false
        graceUntil = nil
        isPauseScheduled = false
        isTemporary = false
        grantedUntil = nil
        end = nil
    }

    private mutating func describe(_ update: BillingPeriod) {
        guard end == nil else { return }
        period.expiry = update.expiry ?? period.expiry
        period.purchasedAt = update.purchasedAt ?? period.purchasedAt
    }

    /// Ends access, and never later than the event itself. An earlier end stays: the expiration after a refund does not replace it.
    private mutating func finish(_ reason: End.Reason, _ update: BillingPeriod, at instant: BillingInstant) {
        let at = min(update.expiry?.instant ?? instant, instant)
        if end == nil || reason == .refunded && end?.reason != .refunded {
            end = End(at: min(end?.at ?? at, at), reason: reason)
        }
    }

    private mutating func reopen(with update: BillingPeriod) {
        guard let ended = end, let expiry = update.expiry ?? period.expiry, expiry.isAfter(ended.at) else { return }
        end = nil
        period.expiry = expiry
    }

    private mutating func grantTemporarily(_ update: BillingPeriod, at instant: BillingInstant) {
        let latest = instant.advanced(by: Self.longestTemporaryGrant)
        let granted = min(update.expiry?.instant ?? latest, latest)
        let until = Expiry.at(granted)
        grantedUntil = granted
        if end(of: nil) != nil || isTemporary {
            period.expiry = until
            willRenew = false
            end = nil
        } else {
            period.expiry = max(period.expiry ?? until, until)
        }
    }

    /// Whether the event is about a period before the current one: a late cancellation or expiration must not end a renewed subscription. Where the
    /// store repeats one transaction over renewals, a period that ended before the current one began is an earlier one.
    private func belongsToEarlierPeriod(_ update: BillingPeriod, _ transaction: String?) -> Bool {
        guard let began = period.purchasedAt, let purchasedAt = update.purchasedAt, purchasedAt < began else { return false }
        guard let transaction, transaction == reference.transaction else { return true }
        return update.expiry.map { $0 <= .at(began) } ?? false
    }

    /// Whether the event is the expiration of a period that was over when the current one began; for senders that do not send when the expired
    /// period began.
    private func endsEarlierPeriod(_ event: PurchaseEvent, _ update: BillingPeriod) -> Bool {
        guard case .expired = event, update.purchasedAt == nil, let began = period.purchasedAt, let expiry = update.expiry?.instant else {
            return false
        }
        return expiry <= began
    }
}
