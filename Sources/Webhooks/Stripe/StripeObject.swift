import CoachCore

/// The `data.object` of a Stripe event.
struct StripeObject {
    /// What the object is read as. Those of `charge.succeeded` and `charge.refunded` are both Stripe's Charge.
    enum Kind { case checkout, subscription, invoice, invoicePayment, succeededCharge, refundedCharge, dispute }

    /// After a failed payment Stripe retries for days; access lasts this long after the unpaid period began (our policy).
    static let gracePeriod: Int64 = 7 * 24 * 60 * 60 * 1000

    let fields: EventFields
    let environment: BillingEnvironment
    let catalogue: ProductCatalogue

    init(_ fields: EventFields, environment: BillingEnvironment, catalogue: ProductCatalogue) {
        self.fields = fields
        self.environment = environment
        self.catalogue = catalogue
    }

    /// The user first, if the object names them, then the customer, invoice and payments by which later events find them.
    func subject(_ kind: Kind) throws(IgnoredReason) -> [SubscriberID] {
        var names = [try fields.identifier("customer")].compactMap { $0 }
        if kind == .invoicePayment, let invoice = try fields.identifier("invoice") { names.append(invoice) }
        if kind == .invoice, let id = try fields.text("id") { names.append(id) }
        names += try payments()
        let ids = [try user(kind)].compactMap { $0.map { SubscriberID($0) } } + names.compactMap { SubscriberID(.stripe, $0) }
        guard !ids.isEmpty else { throw .missing("data.object.customer") }
        return ids
    }

    /// The one user that the object names. Metadata is written by the seller's server; the buyer of a payment link chooses its
    /// `client_reference_id`, which counts only without metadata and only if it is a user's id.
    private func user(_ kind: Kind) throws(IgnoredReason) -> UserID? {
        var names = [try fields.object("metadata")?.string("user_id")]
        if kind == .invoice { names.append(try subscriptionDetails()?.object("metadata")?.string("user_id")) }
        if kind == .checkout { names.append(try fields.string("client_reference_id")) }
        return names.compactMap { $0 }.first.flatMap { UserID(validating: $0) }
    }

    func change(_ kind: Kind, type: String) throws(IgnoredReason) -> BillingChange {
        switch kind {
        case .checkout:
            guard try fields.string("mode") == "subscription" else { throw .informational }
            return .identity
        case .subscription: return .observation(try subscription())
        case .invoice: return try invoice(isPaid: type == "invoice.paid")
        case .invoicePayment:
            // Paid out of band: there is no payment that Stripe could refund.
            guard let payment = try payments().first else { throw .informational }
            return .payment(payment, invoice: try fields.required("invoice", fields.identifier("invoice")))
        case .succeededCharge:
            guard fields["customer"] != nil, fields["payment_intent"] != nil else { throw .informational }
            return .identity
        case .refundedCharge:
            // True only when the whole amount was refunded.
            guard try fields.bool("refunded") == true else { throw .informational }
            // An earlier period's refund ends nothing. Stripe's time of a charge may be a little before that of the period that it pays.
            let chargedAt = try fields.instant(seconds: "created")?.advanced(by: 3_600_000)
            let payment = try fields.identifier("payment_intent")
            return .purchase(reference(nil, payment: payment), .refunded, BillingPeriod(purchasedAt: chargedAt))
        case .dispute:
            guard try fields.string("status") == "lost" else { throw .informational }
            // A payment that was disputed before the current period began was not that period's.
            let payment = try fields.identifier("payment_intent")
            let disputedAt = try fields.instant(seconds: "created")
            return .purchase(reference(nil, payment: payment), .refunded, BillingPeriod(purchasedAt: disputedAt))
        }
    }

    private func reference(_ subscription: String?, payment: String? = nil, invoice: String? = nil) -> PurchaseReference {
        PurchaseReference(
            environment: environment, store: .stripe, originalTransaction: subscription, transaction: payment, invoice: invoice)
    }

    /// The payments that the object names. Until 2025-03-31 an invoice named its payment in `payment_intent`, as other objects do. Since then it has a
    /// list of them, which is not always sent. An invoice's payment names its own.
    private func payments() throws(IgnoredReason) -> [String] {
        if let id = try fields.identifier("payment_intent") { return [id] }
        var ids: [String] = []
        for element in try fields.object("payments")?.objects("data") ?? [fields] {
            if let id = try element.object("payment")?.identifier("payment_intent") { ids.append(id) }
        }
        return ids
    }

    // MARK: Subscription

    private func subscription() throws(IgnoredReason) -> PurchaseObservation {
        let id = try fields.eventID("id")
        let status = try fields.required("status", fields.string("status"))
        let items = try fields.object("items")?.objects("data") ?? []
        let period = try period(items, isTrial: status == "trialing")
        let isOver = ["canceled", "incomplete_expired"].contains(status)
        // Of the three behaviours, `void` alone stops the service; the two others offer it for free, or until it is paid later
        // (https://docs.stripe.com/billing/subscriptions/pause-payment).
        let isPaused = try fields.object("pause_collection")?.string("behavior") == "void"
        let end: PurchaseObservation.End? =
            switch status {
            case "trialing", "active", "past_due": isPaused ? .paused : nil
            case "paused": .paused
            case "unpaid", "incomplete", "canceled", "incomplete_expired": .expired
            default: throw .invalid("data.object.status")
            }
        let isPastDue = status == "past_due"
        // The portal sets only `cancel_at`, other ways only the flag. A `cancel_at` in a later period, as of a fixed term, leaves renewals until then.
        let cancelAt = try fields.instant(seconds: "cancel_at").map(Expiry.at)
        let isCancelled = try fields.bool("cancel_at_period_end") == true || (cancelAt != nil && cancelAt == period.expiry)
        return PurchaseObservation(
            reference: reference(id), period: period, willRenew: !isCancelled && end == nil, hasBillingIssue: isPastDue,
            graceUntil: isPastDue ? period.purchasedAt?.advanced(by: Self.gracePeriod) : nil, end: end,
            endedAt: try fields.instant(seconds: "ended_at"), isFinal: isOver, isUnpaid: isPastDue)
    }

    private func period(_ items: [EventFields], isTrial: Bool) throws(IgnoredReason) -> BillingPeriod {
        // Since 2025-03-31 on the items, before on the subscription.
        var ends: [BillingInstant] = []
        var starts: [BillingInstant] = []
        var entitlements: [String] = []
        var product: String?
        for item in items {
            if let end = try item.instant(seconds: "current_period_end") { ends.append(end) }
            if let start = try item.instant(seconds: "current_period_start") { starts.append(start) }
            let price = try item.object("price")
            let names = [try price?.identifier("product"), try price?.text("id")].compactMap { $0 }
            product = product ?? names.first
            for name in names { entitlements += catalogue.entitlements(of: name) }
        }
        if let end = try fields.instant(seconds: "current_period_end"), ends.isEmpty { ends.append(end) }
        if let start = try fields.instant(seconds: "current_period_start"), starts.isEmpty { starts.append(start) }
        let start = starts.max()
        var expiry = try fields.required("items.data[0].current_period_end", ends.max())
        if let cancelAt = try fields.instant(seconds: "cancel_at") { expiry = min(expiry, cancelAt) }
        return BillingPeriod(product: product, entitlements: entitlements, isTrial: isTrial, purchasedAt: start, expiry: .at(expiry))
    }

    // MARK: Invoice

    private func subscriptionDetails() throws(IgnoredReason) -> EventFields? {
        try fields.object("parent")?.object("subscription_details")
    }

    private func invoice(isPaid: Bool) throws(IgnoredReason) -> BillingChange {
        let parents = [try subscriptionDetails()?.identifier("subscription"), try fields.identifier("subscription")]
        guard let subscription = parents.compactMap({ $0 }).first else { throw .informational }
        guard isPaid else { return .purchase(reference(subscription), .billingIssue(graceUntil: nil), BillingPeriod()) }
        // The invoice of a trial is paid with nothing; the subscription's own event has the trial.
        guard try fields.integer("amount_paid") ?? 0 > 0 else { throw .informational }
        var ends: [BillingInstant] = []
        var starts: [BillingInstant] = []
        var hasMoments = false
        for line in try fields.object("lines")?.objects("data") ?? [] {
            guard let period = try line.object("period"), let end = try period.instant(seconds: "end") else { continue }
            let start = try period.instant(seconds: "start")
            hasMoments = hasMoments || start == end
            if start == end { continue }
            ends.append(end)
            if let start { starts.append(start) }
        }
        // An invoice for something else than time ends no period and begins none.
        if ends.isEmpty, hasMoments { throw .informational }
        let end = try fields.required("lines.data[0].period.end", ends.max())
        return .purchase(
            reference(subscription, payment: try payments().first, invoice: try fields.text("id")), .renewed,
            BillingPeriod(purchasedAt: starts.max(), expiry: .at(end)))
    }
}

extension EventFields {
    /// A field that holds an id, or the expanded object with that id.
    fileprivate func identifier(_ key: String) throws(IgnoredReason) -> String? {
        if self[key]?.string != nil { return try text(key) }
        return try object(key)?.text("id")
    }
}
