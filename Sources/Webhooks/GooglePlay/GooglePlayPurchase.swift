import CoachCore

/// Parses the answer to Google Play's `purchases.subscriptionsv2.get`: the state of one purchase.
/// <https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2>
enum GooglePlayPurchase {
    /// - Parameters:
    ///   - isRefunded: whether a payment was refunded: then the end of the subscription is that refund's. A refund without revocation ends
    ///     nothing, and is counted.
    ///   - requestedAt: when the state was asked for. The answer has no time of its own.
    static func parse(
        _ body: [UInt8], token: String, isRefunded: Bool = false, id: String, requestedAt: BillingInstant, catalogue: ProductCatalogue
    ) throws(IgnoredReason) -> BillingEvent {
        let fields = try EventFields(body: body)
        let state = try fields.required("subscriptionState", fields.string("subscriptionState"))
        let linked = try fields.string("linkedPurchaseToken")
        let isTest = fields["testPurchase"] != nil
        var period = try period(fields, catalogue)
        period.renews = try fields.objects("lineItems")?.contains { $0["autoRenewingPlan"] != nil } ?? false
        let end = try end(state, isRefunded)
        // A change of the subscription that was never paid for leaves the one that it was to replace as it is.
        let replaced = state == "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED" ? nil : linked
        let observation = PurchaseObservation(
            reference: PurchaseReference(
                environment: isTest ? .sandbox : .production, store: .playStore, originalTransaction: name(of: token)),
            period: period, willRenew: try willRenew(fields) && state != "SUBSCRIPTION_STATE_CANCELED",
            hasBillingIssue: state == "SUBSCRIPTION_STATE_IN_GRACE_PERIOD" || state == "SUBSCRIPTION_STATE_ON_HOLD",
            graceUntil: state == "SUBSCRIPTION_STATE_IN_GRACE_PERIOD" ? period.expiry?.instant : nil, end: end,
            endedAt: period.expiry?.instant, replaces: replaced.map(name), hasRefund: isRefunded && end == nil)
        return BillingEvent(
            source: .play, id: id, occurredAt: requestedAt, subject: try subject(fields, token, linked), change: .observation(observation))
    }

    /// Tokens are longer than ids may be, and open purchases at Google: their hashes are stored.
    private static func name(of token: String) -> String { IntakeEvent.contentID(Array(token.utf8)) }

    private static func end(_ state: String, _ isRefunded: Bool) throws(IgnoredReason) -> PurchaseObservation.End? {
        switch state {
        case "SUBSCRIPTION_STATE_ACTIVE", "SUBSCRIPTION_STATE_IN_GRACE_PERIOD", "SUBSCRIPTION_STATE_CANCELED": nil
        case "SUBSCRIPTION_STATE_PAUSED": .paused
        case "SUBSCRIPTION_STATE_EXPIRED": isRefunded ? .refunded : .expired
        case "SUBSCRIPTION_STATE_ON_HOLD", "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED": .expired
        case "SUBSCRIPTION_STATE_PENDING": throw .informational
        default: throw .invalid("subscriptionState")
        }
    }

    private static func willRenew(_ fields: EventFields) throws(IgnoredReason) -> Bool {
        for item in try fields.objects("lineItems") ?? [] where try item.object("autoRenewingPlan")?.bool("autoRenewEnabled") == true {
            return true
        }
        return false
    }

    private static func period(_ fields: EventFields, _ catalogue: ProductCatalogue) throws(IgnoredReason) -> BillingPeriod {
        var period = BillingPeriod(purchasedAt: try fields.instant(rfc3339: "startTime"))
        var entitlements: [String] = []
        for item in try fields.objects("lineItems") ?? [] {
            let product = try item.text("productId")
            entitlements += catalogue.entitlements(of: product)
            period.product = period.product ?? product
            if let expiry = try item.instant(rfc3339: "expiryTime").map(Expiry.at) { period.expiry = max(period.expiry ?? expiry, expiry) }
            if try item.object("offerPhase")?["freeTrial"] != nil { period.isTrial = true }
        }
        if period.expiry == nil { throw .missing("lineItems[0].expiryTime") }
        period.entitlements = Set(entitlements).sorted()
        return period
    }

    /// The user id that the app sent with the purchase. A purchase made in Play itself has that of the purchase before.
    private static func subject(_ fields: EventFields, _ token: String, _ linked: String?) throws(IgnoredReason) -> [SubscriberID] {
        let context = try fields.object("outOfAppPurchaseContext")
        let accounts = [try fields.object("externalAccountIdentifiers"), try context?.object("expiredExternalAccountIdentifiers")]
        var user: UserID?
        for account in accounts where user == nil {
            user = try account?.string("obfuscatedExternalAccountId").flatMap { UserID(validating: $0) }
        }
        let earlier = try context?.string("expiredPurchaseToken")
        let tokens = [token, linked, earlier].compactMap { $0.flatMap { SubscriberID(.play, name(of: $0)) } }
        return [user.map { SubscriberID($0) }].compactMap { $0 } + tokens
    }
}
