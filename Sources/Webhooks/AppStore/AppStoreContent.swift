import CoachCore

/// The verified transaction and renewal information of a notification: makes its billing event and price.
struct AppStoreContent {
    let policy: AppStorePolicy
    let environment: BillingEnvironment
    var transaction: EventFields?
    var renewal: EventFields?

    init(policy: AppStorePolicy, environment: BillingEnvironment) {
        self.policy = policy
        self.environment = environment
    }

    func event(_ payload: EventFields, id: String, type: String) throws(IgnoredReason) -> BillingEvent {
        let subtype = try payload.string("subtype")
        guard let event = try purchaseEvent(type, subtype) else { throw .informational }
        guard let transaction else { throw .missing("data.signedTransactionInfo") }
        guard try transaction.string("bundleId") == policy.bundleID else { throw .invalid("signedTransactionInfo.bundleId") }
        let original = try transaction.eventID("originalTransactionId")
        // The account token is set at the purchase by the app, in any case of letters; offer codes redeemed outside have none.
        let tokens = [try transaction.text("appAccountToken"), try renewal?.text("appAccountToken")].compactMap { $0 }
        let user = tokens.first.flatMap { UserID(validating: $0) }.map { SubscriberID($0) }
        let subject = [user, SubscriberID(.appstore, original)].compactMap { $0 }
        let reference = PurchaseReference(
            environment: environment, store: .appStore, originalTransaction: original, transaction: try transaction.text("transactionId"))
        return BillingEvent(
            source: .appstore, id: id, occurredAt: try payload.required("signedDate", payload.instant("signedDate")), subject: subject,
            change: .purchase(reference, event, try period(transaction, event)))
    }

    /// Apple's price is in thousandths of the currency. nil for events of which no payment is part.
    func price(type: String, subtype: String?) -> Nanodollars? {
        let price = transaction?.dollars("price", decimals: 3, currency: "currency")
        return switch (type, subtype) {
        // The transaction is that of the period that runs, which was paid for before.
        case ("OFFER_REDEEMED", "DOWNGRADE"): nil
        case ("SUBSCRIBED", _), ("ONE_TIME_CHARGE", _), ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), ("OFFER_REDEEMED", _), ("DID_RENEW", _):
            price
        case ("REFUND", _): price.map { Nanodollars(-$0.raw) }
        default: nil
        }
    }

    /// nil for types that do not affect entitlements.
    private func purchaseEvent(_ type: String, _ subtype: String?) throws(IgnoredReason) -> PurchaseEvent? {
        switch (type, subtype) {
        case ("SUBSCRIBED", _), ("ONE_TIME_CHARGE", _), ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"): .purchased
        case ("DID_RENEW", _): .renewed
        // A downgrade takes effect with the next renewal, also one that an offer is for.
        case ("DID_CHANGE_RENEWAL_PREF", _), ("OFFER_REDEEMED", "DOWNGRADE"): .productChange(to: try renewal?.text("autoRenewProductId"))
        case ("OFFER_REDEEMED", _): .purchased
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"): .cancelled
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"): .uncancelled
        case ("DID_FAIL_TO_RENEW", _): .billingIssue(graceUntil: try renewal?.instant("gracePeriodExpiresDate"))
        case ("EXPIRED", _), ("GRACE_PERIOD_EXPIRED", _): .expired(paused: false)
        case ("REFUND", _), ("REVOKE", _): .refunded
        case ("REFUND_REVERSED", _): .refundReversed
        case ("RENEWAL_EXTENDED", _): .extended
        case ("TEST", _), ("PRICE_INCREASE", _), ("REFUND_DECLINED", _), ("CONSUMPTION_REQUEST", _), ("RENEWAL_EXTENSION", _),
            ("EXTERNAL_PURCHASE_TOKEN", _), ("RESCIND_CONSENT", _), ("METADATA_UPDATE", _), ("MIGRATION", _), ("PRICE_CHANGE", _),
            ("DID_CHANGE_RENEWAL_STATUS", _):
            nil
        default: throw .unknownType
        }
    }

    private func period(_ transaction: EventFields, _ event: PurchaseEvent) throws(IgnoredReason) -> BillingPeriod {
        let product = try transaction.text("productId")
        let entitlements = policy.catalogue.entitlements(of: product)
        let isSubscription = try transaction.string("type") == "Auto-Renewable Subscription"
        var expiry = try transaction.instant("expiresDate").map(Expiry.at)
        if let revokedAt = try transaction.instant("revocationDate"), event == .refunded { expiry = .at(revokedAt) }
        if expiry == nil, event == .purchased || event == .renewed {
            guard !isSubscription else { throw .missing("signedTransactionInfo.expiresDate") }
            // Without a catalogue entry a product that never expires cannot be distinguished from a consumable one.
            guard !entitlements.isEmpty else { throw .consumable }
            expiry = .never
        }
        return BillingPeriod(
            product: product, entitlements: entitlements, isTrial: try transaction.string("offerDiscountType") == "FREE_TRIAL",
            renews: isSubscription, purchasedAt: try transaction.instant("purchaseDate"), expiry: expiry)
    }
}
