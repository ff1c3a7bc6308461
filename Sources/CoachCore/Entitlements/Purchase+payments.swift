/// What paid for the present period. Stripe charges for a change in the middle of it by an invoice of its own, and a refund names one of the payments.
extension Purchase {
    /// Whether an invoice of the period that began at this instant was paid, or one of a change within it. What is overdue then is another change.
    func isPaid(from start: BillingInstant?) -> Bool {
        guard let paidSince, let start else { return false }
        return start <= paidSince
    }

    /// Whether a paid invoice is of the present period: of all of it, or of a change in the middle, from when on it is for the rest.
    func includes(_ paid: BillingPeriod) -> Bool {
        guard let began = period.purchasedAt, let expiry = period.expiry, let start = paid.purchasedAt, let paidUntil = paid.expiry else {
            return false
        }
        return began <= start && paidUntil <= expiry
    }

    /// Keeps what `reference` says of the payment before this one if both are of the present period, and forgets the payments of a former one.
    mutating func keepPayment(before paid: PurchaseReference, isOfPresentPeriod: Bool) {
        guard isOfPresentPeriod else {
            earlierPayments = []
            return
        }
        let isNamed = reference.transaction != nil || reference.invoice != nil
        let isSame = paid.invoice.map { $0 == reference.invoice } ?? (paid.transaction == reference.transaction)
        if isNamed, !isSame, !earlierPayments.contains(reference) { earlierPayments.append(reference) }
    }

    /// - Parameter payments: `EntitlementFold.payments`.
    func wasPaid(by payment: String, _ payments: [String: String]) -> Bool {
        earlierPayments.contains { earlier in
            earlier.transaction == payment || earlier.invoice.map { invoice in payments[invoice] == payment } ?? false
        }
    }

    /// Takes over the payments of the purchase as it was known before the store returned its state, which does not name them.
    mutating func keepPayments(of known: Purchase) {
        paidSince = known.paidSince
        guard reference.transaction == nil, period.purchasedAt == known.period.purchasedAt else { return }
        reference.transaction = known.reference.transaction
        reference.invoice = known.reference.invoice
        earlierPayments = known.earlierPayments
    }
}
