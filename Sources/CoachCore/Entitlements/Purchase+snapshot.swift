/// What RevenueCat's whole state of a subscriber does not tell of a purchase.
extension Purchase {
    /// Whether it can run although the snapshot does not list it. A temporary grant is no purchase of a store yet; and RevenueCat lists each product
    /// once, so that one that was bought in another environment or store, too, hides this one.
    func isUnlisted(in snapshot: [PurchaseObservation], at instant: BillingInstant) -> Bool {
        guard state(of: nil, at: instant).accessUntil?.isAfter(instant) ?? false else { return false }
        if isTemporary { return true }
        let places = snapshot.filter { period.product != nil && $0.period.product == period.product }.map(\.reference)
        return !places.isEmpty && !places.contains { $0.store == reference.store && $0.environment == reference.environment }
    }

    /// Whether it is a grant that has only the product in common with the listed purchase: it stands in for one that is not listed yet.
    func isGrant(beside listed: PurchaseObservation) -> Bool {
        guard isTemporary else { return false }
        guard let transaction = listed.reference.transaction else { return true }
        return transaction != reference.transaction && transaction != reference.originalTransaction
    }

    /// Takes over what a snapshot does not say of the purchase, from what was known of it before.
    mutating func complete(from known: Purchase, at instant: BillingInstant) {
        // RevenueCat's subscriber has no original transaction ids; those known from events identify later events.
        reference.originalTransaction = reference.originalTransaction ?? known.reference.originalTransaction
        reference.transaction = reference.transaction ?? known.reference.transaction
        // It names each entitlement with one product alone.
        if period.entitlements.isEmpty { period.entitlements = known.period.entitlements }
        keepRevocations(of: known, at: instant)
        keepExpiration(of: known)
        keepChange(of: known)
        keepGrant(of: known, at: instant)
    }

    /// The end that an event told of, unless the snapshot names a later one: it does not say that a period is over, and would open the gate again for
    /// as long as a renewal can be late.
    private mutating func keepExpiration(of known: Purchase) {
        guard end == nil, let over = known.end, over.reason == .expired || over.reason == .paused, let expiry = period.expiry,
            !expiry.isAfter(over.at)
        else { return }
        end = over
    }

    /// An announced change, unless a period began since then.
    private mutating func keepChange(of known: Purchase) {
        guard let change = known.change, period.purchasedAt.map({ $0 <= change.at }) ?? true else { return }
        self.change = change
    }

    /// A temporary grant that prolonged the purchase: what the store says of it was true before the grant, unless it is a new period or a refund.
    private mutating func keepGrant(of known: Purchase, at instant: BillingInstant) {
        guard !known.isTemporary, let until = known.grantedUntil, until > instant, known.end(of: nil) == nil else { return }
        if let began = period.purchasedAt, let before = known.period.purchasedAt, began > before { return }
        if let end, end.reason == .refunded, end.at >= until.advanced(by: -Self.longestTemporaryGrant) { return }
        if end != nil { willRenew = false }
        end = nil
        grantedUntil = until
        period.expiry = max(period.expiry ?? .at(until), .at(until))
    }
}
