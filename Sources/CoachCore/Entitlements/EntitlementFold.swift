/// The purchases of all subscribers that the folded events connect, by alias or transfer.
///
/// A pure function of the set of events: neither their order of arrival nor their number of deliveries matters. Events are folded in the
/// order of `BillingEvent.Position`; of two events with the same source and id, the first in that order counts.
///
/// RevenueCat decides which users are one subscriber. Other senders repeat ids that a buyer may have chosen, such as Stripe's
/// `client_reference_id`: these give a purchase to a user, but never make two users one.
public struct EntitlementFold: Equatable, Sendable {
    private(set) var purchases: [Purchase] = []
    private(set) var identities = SubscriberIdentities()
    /// Purchases that another one has replaced, by their original transactions, with the time of the replacement. Later events of the store do not make them
    /// valid again.
    private(set) var replaced: [PurchaseReference: BillingInstant] = [:]
    /// The payments of invoices, by invoice.
    private(set) var payments: [String: String] = [:]
    /// Position of the last event; nil before the first.
    private(set) var last: BillingEvent.Position?

    /// Folds a set of events. O(n log n).
    public init(_ events: some Sequence<BillingEvent>) {
        let events = Self.ordered(events)
        // Links that may be refused come last, so that they find all others.
        for event in events where event.mayMergeUsers { link(event) }
        for event in events where !event.mayMergeUsers { link(event) }
        for event in events { apply(event) }
        last = events.last?.position
    }

    /// The result of an earlier fold (`EntitlementFold+JSON.swift`).
    init(
        purchases: [Purchase], identities: SubscriberIdentities, replaced: [PurchaseReference: BillingInstant], payments: [String: String],
        last: BillingEvent.Position?
    ) {
        self.purchases = purchases
        self.identities = identities
        self.replaced = replaced
        self.payments = payments
        self.last = last
    }

    /// Folds one more event if the result equals that of folding the whole set: the event is the last in order and does not show that two
    /// known subscribers are one. Otherwise returns false and changes nothing. The caller must not append an event id twice.
    public mutating func append(_ event: BillingEvent) -> Bool {
        if let last {
            guard last < event.position else { return false }
        }
        guard event.links.allSatisfy({ !identities.wouldMerge($0) }) else { return false }
        // An earlier event's link might have been refused if this one had been known.
        if event.mayMergeUsers, event.links.contains(where: identities.wouldExtend) { return false }
        link(event)
        apply(event)
        last = event.position
        return true
    }

    /// The instant after the last of the folded events; nil when `event`, one of them, is the last.
    public func instantAfterLast(otherThan event: BillingEvent) -> BillingInstant? {
        guard let last, event.position < last else { return nil }
        return last.occurredAt.advanced(by: 1)
    }

    /// All ids that the events name; in no order.
    public var subscriberIDs: [SubscriberID] { identities.groups.flatMap(\.self) }

    /// Whether two ids belong to one subscriber.
    public func isSame(_ a: SubscriberID, _ b: SubscriberID) -> Bool { identities.root(a) == identities.root(b) }

    private static func ordered(_ events: some Sequence<BillingEvent>) -> [BillingEvent] {
        let events = Array(events)
        // Sorts the indices, because moving an event costs more than comparing two.
        let positions = events.map(\.position)
        var seen: Set<BillingEvent.Key> = []
        return positions.indices.sorted { positions[$0] < positions[$1] }
            .compactMap { seen.insert(events[$0].key).inserted ? events[$0] : nil }
    }

    private mutating func link(_ event: BillingEvent) {
        for ids in event.links {
            if event.mayMergeUsers { identities.link(ids) } else { identities.linkWithoutMergingUsers(ids) }
        }
    }
}

extension BillingEvent {
    fileprivate var mayMergeUsers: Bool { source == .revenuecat }
    fileprivate var isDirect: Bool { source != .revenuecat }

    /// Groups of ids that belong to one subscriber each. The receivers of a transfer are one; its senders need not be.
    public var links: [[SubscriberID]] {
        guard case .transfer(let from, let to, _, _) = change else { return [subject] }
        return [subject, to] + from.map { [$0] }
    }
}

// MARK: - Events

extension EntitlementFold {
    private mutating func apply(_ event: BillingEvent) {
        if case .transfer(let from, let to, let store, let environment) = event.change {
            transfer(from: from, to: to, store, environment)
            return
        }
        guard let owner = event.subject.first else { return }
        switch event.change {
        case .purchase(let reference, let purchaseEvent, let period):
            let index = apply(purchaseEvent, period, withPayment(reference), owner: owner, at: event.occurredAt)
            if let index { purchases[index].isDirect = event.isDirect }
        case .observation(let observation):
            let index = observe(observation, owner: owner, at: event.occurredAt)
            purchases[index].isDirect = event.isDirect
        case .snapshot(let observations): replaceAll(observations, owner: owner, at: event.occurredAt)
        case .grant(let entitlement, let until): grant(entitlement, until, to: owner, at: event.occurredAt)
        case .revocation(let entitlement): revoke(entitlement, of: owner, at: event.occurredAt)
        case .payment(let payment, let invoice): link(payment, to: invoice)
        case .transfer, .identity: break
        }
    }

    /// Returns the index of the event's purchase; nil when it has no effect.
    private mutating func apply(
        _ event: PurchaseEvent, _ period: BillingPeriod, _ reference: PurchaseReference, owner: SubscriberID, at instant: BillingInstant
    ) -> Int? {
        let startsPeriod = event == .purchased || event == .renewed
        if startsPeriod { settleTemporaryGrants(reference, owner: owner) }
        var match = index(of: reference, product: period.product, owner: owner)
        // A purchase that a store could not validate yet is not the one that was revoked.
        if event == .temporaryGrant, let revoked = match, purchases[revoked].end(of: nil)?.reason == .revoked { match = nil }
        if match == nil, event != .temporaryGrant { match = unnamed(reference, product: period.product, owner: owner) }
        guard let index = match ?? (event == .refunded ? onlyRunning(reference, product: period.product, owner: owner) : nil) else {
            let index = create(event, period, reference, owner: owner, at: instant)
            if let index { settleChanges(event, of: index, at: instant) }
            return index
        }
        if purchases[index].isFinal { return nil }
        if startsPeriod { purchases[index].owner = newOwner(owner, of: purchases[index]) }
        purchases[index].reference.originalTransaction = purchases[index].reference.originalTransaction ?? reference.originalTransaction
        purchases[index].apply(event, period, of: reference, at: instant)
        settleChanges(event, of: index, at: instant)
        return index
    }

    /// An event of an unknown purchase describes it, unless it has no information about access.
    private mutating func create(
        _ event: PurchaseEvent, _ period: BillingPeriod, _ reference: PurchaseReference, owner: SubscriberID, at instant: BillingInstant
    ) -> Int? {
        var purchase = Purchase(reference: reference, owner: owner, period: period)
        switch event {
        case .temporaryGrant: purchase.isTemporary = true
        // The refund of something else, such as a consumable product, leaves a user without a subscription at `none`.
        case .refunded where period.isOfNoSubscription: return nil
        case .expired, .refunded: settleTemporaryGrants(reference, owner: owner)
        default:
            if period.expiry == nil { return nil }
        }
        purchase.apply(event, period, of: reference, at: instant)
        purchases.append(purchase)
        return purchases.endIndex - 1
    }

    /// Returns the index of the observed purchase.
    private mutating func observe(_ observation: PurchaseObservation, owner: SubscriberID, at instant: BillingInstant) -> Int {
        var purchase = Purchase(observation, owner: owner, at: instant)
        if let other = observation.replacedReference { replace(other, at: instant) }
        guard let index = index(of: observation.reference, product: observation.period.product, owner: owner) else {
            purchase.endIfReplaced(replaced)
            purchases.append(purchase)
            return purchases.endIndex - 1
        }
        let known = purchases[index]
        if known.isFinal { return index }
        purchase.owner = newOwner(owner, of: known)
        purchase.reference.originalTransaction = observation.reference.originalTransaction ?? known.reference.originalTransaction
        purchase.keepPayments(of: known)
        if purchase.period.entitlements.isEmpty { purchase.period.entitlements = known.period.entitlements }
        purchase.endIfReplaced(replaced)
        if observation.isUnpaid, known.isPaid(from: observation.period.purchasedAt) { purchase.period.expiry = observation.period.expiry }
        purchase.keepRefund(of: known)
        purchase.keepRevocations(of: known, at: instant)
        purchases[index] = purchase
        return index
    }

    /// The owner after an event of the purchase. Users may share a store's customer, and its id is linked to the first of them. So an event without a
    /// user's id changes no owner that is a user.
    private func newOwner(_ owner: SubscriberID, of purchase: Purchase) -> SubscriberID {
        owner.isOfStore && purchase.owner.userID != nil ? purchase.owner : owner
    }

    private mutating func replace(_ reference: PurchaseReference, at instant: BillingInstant) {
        let since = replaced[reference] ?? instant
        replaced[reference] = since
        for index in purchases.indices { purchases[index].endIfReplaced([reference: since]) }
    }

    private mutating func replaceAll(_ observations: [PurchaseObservation], owner: SubscriberID, at instant: BillingInstant) {
        let before = self
        removeUnlisted(observations, of: owner, at: instant)
        for observation in observations { removeListed(observation, owner: owner) }
        for observation in observations {
            var purchase = Purchase(observation, owner: owner, at: instant)
            if let known = before.index(of: observation.reference, product: observation.period.product, owner: owner),
                !before.purchases[known].isGrant(beside: observation)
            {
                purchase.complete(from: before.purchases[known], at: instant)
            }
            purchases.append(purchase)
        }
    }

    /// Removes purchases that a snapshot does not list. One that an operator has revoked is ended but kept, so that it is still revoked when listed again.
    private mutating func removeUnlisted(_ observations: [PurchaseObservation], of owner: SubscriberID, at instant: BillingInstant) {
        let isGone = { (purchase: Purchase) in
            purchase.reference.store != .manual && !purchase.isDirect && !purchase.isUnlisted(in: observations, at: instant)
        }
        remove(of: owner) { isGone($0) && $0.revocations.isEmpty }
        for index in purchases.indices where isGone(purchases[index]) && isSame(purchases[index].owner, owner) {
            purchases[index].end = purchases[index].end ?? .init(at: instant, reason: .expired)
        }
    }

    /// Removes what is known of a purchase that the snapshot lists, also as a purchase of another subscriber: the event of a transfer may have been lost, and
    /// RevenueCat's newest answer names the right owner.
    private mutating func removeListed(_ observation: PurchaseObservation, owner: SubscriberID) {
        guard let match = index(of: observation.reference, product: observation.period.product, owner: owner),
            !purchases[match].isGrant(beside: observation)
        else { return }
        purchases.remove(at: match)
    }

    private mutating func transfer(
        from: [SubscriberID], to: [SubscriberID], _ store: BillingStore?, _ environment: BillingEnvironment?
    ) {
        guard let receiver = to.first else { return }
        for index in purchases.indices {
            let reference = purchases[index].reference
            guard reference.store != .manual, store == nil || store == reference.store,
                environment == nil || environment == reference.environment
            else { continue }
            if from.contains(where: { isSame($0, purchases[index].owner) }) { purchases[index].owner = receiver }
        }
    }

    private mutating func grant(_ entitlement: String, _ until: Expiry, to owner: SubscriberID, at instant: BillingInstant) {
        let reference = PurchaseReference(environment: .production, store: .manual)
        remove(of: owner) { $0.reference.store == .manual && $0.period.entitlements == [entitlement] }
        let period = BillingPeriod(entitlements: [entitlement], renews: false, purchasedAt: instant, expiry: until)
        purchases.append(Purchase(reference: reference, owner: owner, period: period))
    }

    private mutating func revoke(_ entitlement: String?, of owner: SubscriberID, at instant: BillingInstant) {
        for index in purchases.indices where isSame(purchases[index].owner, owner) { purchases[index].revoke(entitlement, at: instant) }
    }
}

// MARK: - Effects on other purchases

extension EntitlementFold {
    /// Records that a payment paid an invoice, and so the purchase that the invoice is for.
    private mutating func link(_ payment: String, to invoice: String) {
        payments[invoice] = payment
        for index in purchases.indices where purchases[index].reference.invoice == invoice {
            purchases[index].reference.transaction = payment
        }
    }

    /// Drops temporary grants that a validated purchase, or the failure to validate it, makes obsolete.
    private mutating func settleTemporaryGrants(_ reference: PurchaseReference, owner: SubscriberID) {
        remove(of: owner) {
            $0.isTemporary && $0.reference.store == reference.store && $0.reference.environment == reference.environment
                && $0.reference.originalTransaction == nil && $0.reference.transaction == nil
        }
    }

    private mutating func remove(of owner: SubscriberID, where isObsolete: (Purchase) -> Bool) {
        guard purchases.contains(where: isObsolete) else { return }
        purchases = purchases.filter { !(isObsolete($0) && isSame($0.owner, owner)) }
    }

    /// Ends the purchase that a change of product has replaced. The event is that of the new purchase, or that of the change, which can come later.
    private mutating func settleChanges(_ event: PurchaseEvent, of purchase: Int, at instant: BillingInstant) {
        switch event {
        case .purchased, .renewed:
            for former in purchases.indices where former != purchase { endIfChanged(former, to: purchase, at: instant) }
        case .productChange:
            for next in purchases.indices where next != purchase && purchases[next].state(of: nil, at: instant).isActive {
                endIfChanged(purchase, to: next, at: instant)
            }
        default: break
        }
    }

    private mutating func endIfChanged(_ index: Int, to next: Int, at instant: BillingInstant) {
        guard purchases[index].isChanged(to: purchases[next]), isSame(purchases[index].owner, purchases[next].owner) else { return }
        purchases[index].end = .init(at: purchases[next].period.purchasedAt.map { min($0, instant) } ?? instant, reason: .replaced)
    }
}
