/// Which purchase an event is about.
extension EntitlementFold {
    /// The purchase that an event names: by original transaction, else by a transaction of its present period, else the owner's latest one of the
    /// product when either side has no original transaction.
    func index(of reference: PurchaseReference, product: String?, owner: SubscriberID) -> Int? {
        let ofStore = purchases.indices.reversed().filter {
            purchases[$0].reference.environment == reference.environment && purchases[$0].reference.store == reference.store
                && reference.store != .manual
        }
        // A temporary grant stands beside a purchase that was revoked.
        let candidates = ofStore.filter { !purchases[$0].isTemporary } + ofStore.filter { purchases[$0].isTemporary }
        if let original = reference.originalTransaction,
            let match = candidates.first(where: { purchases[$0].reference.originalTransaction == original })
        {
            return match
        }
        if let transaction = reference.transaction,
            let match = candidates.first(where: {
                purchases[$0].reference.transaction == transaction || purchases[$0].reference.originalTransaction == transaction
                    || purchases[$0].wasPaid(by: transaction, payments)
            })
        {
            return match
        }
        guard let product else { return nil }
        return candidates.first {
            let known = purchases[$0].reference.originalTransaction
            return purchases[$0].period.product == product && (known == nil || reference.originalTransaction == nil)
                && isSame(purchases[$0].owner, owner)
        }
    }

    /// The purchase that an event concerns which names none, such as the refund of a payment (Stripe's charges): the only one that runs at the store, if
    /// it is not known to have been paid otherwise.
    func onlyRunning(_ reference: PurchaseReference, product: String?, owner: SubscriberID) -> Int? {
        guard reference.originalTransaction == nil, product == nil else { return nil }
        let running = purchases.indices.filter {
            purchases[$0].reference.environment == reference.environment && purchases[$0].reference.store == reference.store
                && purchases[$0].end == nil && isSame(purchases[$0].owner, owner)
        }
        guard running.count == 1 else { return nil }
        let paid = purchases[running[0]].reference.transaction
        return paid == nil || reference.transaction == nil ? running[0] : nil
    }

    /// The purchase of an event that names neither a transaction nor a product: the only one of the owner that runs at the store, else the latest one
    /// without a product.
    func unnamed(_ reference: PurchaseReference, product: String?, owner: SubscriberID) -> Int? {
        guard reference.originalTransaction == nil, reference.transaction == nil, reference.invoice == nil, product == nil,
            reference.store != .manual
        else { return nil }
        return onlyRunning(reference, product: product, owner: owner)
            ?? purchases.indices.last {
                purchases[$0].reference.environment == reference.environment && purchases[$0].reference.store == reference.store
                    && purchases[$0].period.product == nil && !purchases[$0].isTemporary && isSame(purchases[$0].owner, owner)
            }
    }

    /// The reference with the payment of its invoice, by which a refund names the purchase.
    func withPayment(_ reference: PurchaseReference) -> PurchaseReference {
        guard reference.transaction == nil, let payment = reference.invoice.flatMap({ payments[$0] }) else { return reference }
        var reference = reference
        reference.transaction = payment
        return reference
    }
}

extension PurchaseObservation {
    /// The purchase that this one replaces, as `EntitlementFold.replaced` names it.
    var replacedReference: PurchaseReference? {
        guard let replaces, replaces != reference.originalTransaction else { return nil }
        return PurchaseReference(environment: reference.environment, store: reference.store, originalTransaction: replaces)
    }
}
