/// A change of product for which the store begins a new subscription (Play). RevenueCat sends the change and the first period of the new product, in
/// either order, and need not send the end of the former one.
extension Purchase {
    struct ProductChange: Equatable {
        /// nil: not named.
        var product: String?
        var at: BillingInstant

        init(to product: String?, at instant: BillingInstant) {
            self.product = product
            at = instant
        }
    }

    /// Between an immediate change and the start of the new product's period. RevenueCat sends both events at once.
    private static let longestImmediateChange: Int64 = 60 * 60 * 1000

    /// Whether the announced change is to this other purchase. A deferred change names its product, whose period begins at the end of this one. One
    /// of Google Play that names none is immediate (RevenueCat, event fields); then only the time tells the new purchase.
    func isChanged(to next: Purchase) -> Bool {
        guard let change, end == nil, next.end == nil, !next.isTemporary, reference.store == next.reference.store,
            reference.environment == next.reference.environment
        else { return false }
        if let began = period.purchasedAt, let nextBegan = next.period.purchasedAt, nextBegan < began { return false }
        if let product = change.product { return next.period.product == product }
        guard reference.store == .playStore, next.period.product != period.product, let began = next.period.purchasedAt
        else { return false }
        return began >= change.at.advanced(by: -Self.longestImmediateChange)
            && began <= change.at.advanced(by: Self.longestImmediateChange)
    }
}
