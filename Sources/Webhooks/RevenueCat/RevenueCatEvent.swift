import CoachCore

/// Parses the body of RevenueCat's webhooks. Events that have no effect are ignored with a reason.
/// <https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields>
public enum RevenueCatEvent {
    public static func parse(_ body: [UInt8]) -> IntakeEvent {
        IntakeEvent(.revenuecat, body) { (draft: inout IntakeDraft) throws(IgnoredReason) in
            let root = try EventFields(body: body)
            let event = try root.required("event", root.object("event"))
            let id = try event.eventID("id")
            draft.id = id
            let type = try event.required("type", event.text("type"))
            draft.type = type
            draft.reconciled = event.reconciled(type)
            draft.environment = try event.environment() ?? .production
            let outcome = IntakeEvent.Outcome.event(try event.billingEvent(id: id, type: type, draft.environment))
            draft.price = event.dollars("price")
            return outcome
        }
    }
}

extension EventFields {
    fileprivate func environment() throws(IgnoredReason) -> BillingEnvironment? {
        switch try string("environment") {
        case nil: nil
        case "PRODUCTION": .production
        case "SANDBOX": .sandbox
        default: throw .invalid("event.environment")
        }
    }

    fileprivate func billingEvent(id: String, type: String, _ environment: BillingEnvironment) throws(IgnoredReason) -> BillingEvent {
        // What is ignored for its type is ignored for that reason, whatever its other fields hold.
        guard let kind = RevenueCatEventType(rawValue: type) else { throw .unknownType }
        guard kind.affectsEntitlements else { throw .informational }
        let occurredAt = try required("event_timestamp_ms", instant("event_timestamp_ms"))
        guard kind != .transfer else {
            return BillingEvent(source: .revenuecat, id: id, occurredAt: occurredAt, subject: [], change: try transfer())
        }
        let subject = try subject()
        let change: BillingChange =
            kind == .subscriberAlias
            ? .identity
            : .purchase(try reference(environment), try purchaseEvent(kind), try period(kind))
        return BillingEvent(source: .revenuecat, id: id, occurredAt: occurredAt, subject: subject, change: change)
    }

    /// The app user id first, then the ids that RevenueCat lists for the same subscriber.
    private func subject() throws(IgnoredReason) -> [SubscriberID] {
        let names = [try string("app_user_id"), try string("original_app_user_id")].compactMap { $0 } + (try strings("aliases") ?? [])
        let ids = Self.subscribers(names)
        guard !ids.isEmpty else { throw .missing("event.app_user_id") }
        return ids
    }

    /// One id of each subscriber whose purchases the event may have changed, as far as it names them: also when its other fields make no sense.
    fileprivate func reconciled(_ type: String) -> [SubscriberID] {
        guard let kind = RevenueCatEventType(rawValue: type), kind.affectsEntitlements || kind == .purchaseRedeemed else { return [] }
        func list(_ key: String) -> [String] { (try? strings(key)) ?? [] }
        let subscribers =
            switch kind {
            case .transfer: [list("transferred_from"), list("transferred_to")]
            case .purchaseRedeemed: [list("redeemed_from"), list("redeemed_by")]
            default: [[self["app_user_id"], self["original_app_user_id"]].compactMap { $0?.string } + list("aliases")]
            }
        return subscribers.compactMap { Self.subscribers($0).first }
    }

    /// Each id once. Apps choose their users' ids: one in the form of a store's would take over that store's customer.
    private static func subscribers(_ names: [String]) -> [SubscriberID] {
        var known: Set<SubscriberID> = []
        return names.compactMap { SubscriberID($0) }.filter { !$0.isOfStore && known.insert($0).inserted }
    }

    private func transfer() throws(IgnoredReason) -> BillingChange {
        let from = Self.subscribers(try required("transferred_from", strings("transferred_from")))
        let to = Self.subscribers(try required("transferred_to", strings("transferred_to")))
        if from.isEmpty { throw .invalid("event.transferred_from") }
        if to.isEmpty { throw .invalid("event.transferred_to") }
        return .transfer(from: from, to: to, store: try store(), environment: try environment())
    }

    private func store() throws(IgnoredReason) -> BillingStore? {
        try text("store").map { BillingStore(rawValue: $0.lowercased()) }
    }

    private func reference(_ environment: BillingEnvironment) throws(IgnoredReason) -> PurchaseReference {
        PurchaseReference(
            environment: environment, store: try store() ?? .unknown,
            originalTransaction: try text("original_transaction_id"), transaction: try text("transaction_id"))
    }

    private func purchaseEvent(_ kind: RevenueCatEventType) throws(IgnoredReason) -> PurchaseEvent {
        switch kind {
        case .temporaryEntitlementGrant: .temporaryGrant
        case .initialPurchase, .nonRenewingPurchase: .purchased
        case .renewal: .renewed
        case .cancellation: try string("cancel_reason") == "CUSTOMER_SUPPORT" ? .refunded : .cancelled
        case .uncancellation: .uncancelled
        case .subscriptionPaused: .pauseScheduled
        case .expiration: .expired(paused: try string("expiration_reason") == "SUBSCRIPTION_PAUSED")
        case .billingIssue: .billingIssue(graceUntil: try instant("grace_period_expiration_at_ms"))
        case .productChange: .productChange(to: try text("new_product_id"))
        case .subscriptionExtended: .extended
        case .refundReversed: .refundReversed
        default: throw .informational
        }
    }

    private func period(_ kind: RevenueCatEventType) throws(IgnoredReason) -> BillingPeriod {
        let former = try text("entitlement_id")
        let entitlements = try strings("entitlement_ids") ?? former.map { [$0] } ?? []
        guard entitlements.allSatisfy({ SubscriberID($0) != nil }) else { throw .invalid("event.entitlement_ids") }
        let type = try string("period_type")
        let isGranted = try store()?.rawValue == "promotional"
        var expiry = try expiry(isGranted: isGranted)
        if expiry == nil {
            switch kind {
            case .nonRenewingPurchase where entitlements.isEmpty: throw .consumable
            case .nonRenewingPurchase: expiry = .never
            case .initialPurchase where isGranted: expiry = .never
            case .initialPurchase, .renewal: throw .missing("event.expiration_at_ms")
            default: break
            }
        }
        return BillingPeriod(
            product: try text("product_id"), entitlements: entitlements, isTrial: type == "TRIAL",
            renews: kind != .nonRenewingPurchase && type != "PREPAID" && !isGranted, purchasedAt: try instant("purchased_at_ms"),
            expiry: expiry)
    }

    /// Lifetime grants from RevenueCat's dashboard expire after 200 years; such an expiry is none.
    private func expiry(isGranted: Bool) throws(IgnoredReason) -> Expiry? {
        if isGranted, let value = self["expiration_at_ms"]?.integer, value >= BillingInstant.accepted.upperBound { return .never }
        return try instant("expiration_at_ms").map(Expiry.at)
    }
}
