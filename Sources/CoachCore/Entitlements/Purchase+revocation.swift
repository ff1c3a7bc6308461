/// What ends access although the state that the store reports does not say so.
extension Purchase {
    /// By an operator, until the purchase is paid for again. It is kept beside the end that the store reports, which the store may undo.
    struct Revocation: Equatable {
        var at: BillingInstant
        /// nil: all of the purchase.
        var entitlement: String?
    }

    private static let earliestRenewal: Int64 = 24 * 60 * 60 * 1000

    /// The end of access to an entitlement of the purchase, for nil to all of it: what the store or an operator ended first.
    func end(of entitlement: String?) -> End? {
        let names = entitlement.map { [$0] } ?? period.entitlements
        let taken = names.isEmpty ? [revokedAt(nil)] : names.map(revokedAt)
        guard let revokedAt = taken.contains(nil) ? nil : taken.compactMap(\.self).max() else { return end }
        if let end, end.at <= revokedAt { return end }
        return End(at: revokedAt, reason: .revoked)
    }

    /// Those that no operator took away.
    var openEntitlements: [String] { period.entitlements.filter { revokedAt($0) == nil } }

    private func revokedAt(_ entitlement: String?) -> BillingInstant? {
        revocations.filter { $0.entitlement == nil || $0.entitlement == entitlement }.map(\.at).min()
    }

    mutating func revoke(_ entitlement: String?, at instant: BillingInstant) {
        if let entitlement, !period.entitlements.contains(entitlement) { return }
        revocations.append(Revocation(at: instant, entitlement: entitlement))
    }

    /// The purchase was paid for: what was taken away before is valid again.
    mutating func dropRevocations(before purchasedAt: BillingInstant?) {
        revocations.removeAll { revocation in purchasedAt.map { $0 > revocation.at } ?? true }
    }

    /// Takes over the revocations of the purchase as it was known before a store returned its state, unless it was paid for since then.
    mutating func keepRevocations(of known: Purchase, at instant: BillingInstant) {
        revocations = known.revocations.filter { revocation in
            if let purchasedAt = period.purchasedAt, purchasedAt > revocation.at { return false }
            return !isRenewal(of: known, after: revocation.at, at: instant)
        }
    }

    /// Takes over a refund that the store does not tell of with the purchase's state: to Stripe the subscription stays active, and the answer of Google
    /// Play names the refund only when it was asked for it. It stays until a period begins that was paid for after it. The App Store's state tells
    /// of a refund and of its reversal itself.
    mutating func keepRefund(of known: Purchase) {
        guard let refund = known.end, refund.reason == .refunded else { return }
        switch (reference.store, end?.reason) {
        case (.stripe, nil), (.stripe, .expired), (.playStore, .expired):
            if let purchasedAt = period.purchasedAt, purchasedAt > refund.at { return }
            end = refund
        default: return
        }
    }

    /// Google Play's start of a purchase stays the same with every renewal. A renewal moves the expiry at the end of the period, at most a day
    /// before it; what moves it earlier is an extension, unless a payment was overdue.
    private func isRenewal(of known: Purchase, after revokedAt: BillingInstant, at instant: BillingInstant) -> Bool {
        guard known.isDirect, reference.store == .playStore, end == nil, !hasBillingIssue, let before = known.period.expiry?.instant,
            period.expiry?.isAfter(before) ?? false
        else { return false }
        let wasUnpaid = known.hasBillingIssue || known.end?.reason == .expired || known.end?.reason == .paused
        return wasUnpaid || before > revokedAt && before.advanced(by: -Self.earliestRenewal) <= instant
    }

    /// - Parameter replaced: `EntitlementFold.replaced`.
    mutating func endIfReplaced(_ replaced: [PurchaseReference: BillingInstant]) {
        guard end == nil, !replaced.isEmpty else { return }
        let name = PurchaseReference(
            environment: reference.environment, store: reference.store, originalTransaction: reference.originalTransaction)
        if let instant = replaced[name] { end = End(at: instant, reason: .replaced) }
    }
}
