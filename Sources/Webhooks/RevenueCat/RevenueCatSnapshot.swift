import CoachCore

/// Parses the answer to RevenueCat's `GET /v1/subscribers/{id}` (REST API v1, customer information): the state of all purchases.
enum RevenueCatSnapshot {
    /// The event that the answer is, at the time of the request by RevenueCat's clock. Throws when a field that decides about access is
    /// missing or makes no sense: then nothing of it may be stored.
    static func parse(_ body: [UInt8], of subscriber: SubscriberID) throws(IgnoredReason) -> BillingEvent {
        let root = try EventFields(body: body)
        let answer = try root.required("subscriber", root.object("subscriber"))
        let requestedAt = try root.required("request_date_ms", root.instant("request_date_ms"))
        let original = try answer.string("original_app_user_id").flatMap { SubscriberID($0) }
        let subscriptions = try answer.dictionary("subscriptions")
        var granted: Set<String> = []
        for (product, fields) in subscriptions {
            if try fields.isGranted { granted.insert(product) }
        }
        let entitlements = try answer.dictionary("entitlements").map { (name, fields) throws(IgnoredReason) in
            try Entitlement(name, fields, granted)
        }
        var observations: [PurchaseObservation] = []
        for (product, fields) in subscriptions {
            observations.append(try subscription(product, fields, entitlements, at: requestedAt))
        }
        var listed = Set(subscriptions.map(\.name))
        for (product, purchases) in try answer.lists("non_subscriptions") {
            // One without an entitlement is consumable.
            guard let entitlement = entitlements.first(where: { $0.product == product }), let last = purchases.last else { continue }
            observations.append(try purchase(product, last, entitlements, entitlement.expiry))
            listed.insert(product)
        }
        observations += entitlements.filter { !$0.isOf(listed) && $0.expiry.isAfter(requestedAt) }.map(\.observation)
        return BillingEvent(
            source: .revenuecat, id: "snapshot:" + IntakeEvent.contentID(body), occurredAt: requestedAt,
            subject: [subscriber] + [original].compactMap { $0 }.filter { $0 != subscriber && !$0.isOfStore },
            change: .snapshot(observations))
    }

    private struct Entitlement {
        let name: String
        let product: String?
        let purchasedAt: BillingInstant?
        let expiry: Expiry

        /// Whether it is of one of these products, which may be named with their base plans.
        func isOf(_ products: Set<String>) -> Bool {
            guard let product else { return false }
            return products.contains { $0 == product || $0.hasPrefix("\(product):") }
        }

        /// The purchase of an entitlement whose purchase is not listed, such as a temporary grant's. It is no sandbox's: those are listed.
        var observation: PurchaseObservation {
            let period = BillingPeriod(product: product, entitlements: [name], renews: false, purchasedAt: purchasedAt, expiry: expiry)
            return PurchaseObservation(
                reference: PurchaseReference(environment: .production, store: .unknown), period: period, willRenew: false)
        }

        /// `granted`: the products of grants.
        init(_ name: String, _ fields: EventFields, _ granted: Set<String>) throws(IgnoredReason) {
            self.name = name
            product = try fields.text("product_identifier")
            let isGranted = product.map(granted.contains) ?? false
            purchasedAt = try? fields.instant(rfc3339: "purchase_date")
            expiry = try fields["expires_date"] == nil ? .never : fields.expiry(isGranted: isGranted)
        }
    }

    private static func subscription(
        _ product: String, _ fields: EventFields, _ entitlements: [Entitlement], at instant: BillingInstant
    ) throws(IgnoredReason) -> PurchaseObservation {
        let type = try fields.string("period_type")
        let store = try fields.store()
        let isGranted = try fields.isGranted
        let renews = type != "prepaid" && !isGranted
        let expiry = try fields.expiry(isGranted: isGranted)
        let refundedAt = try fields.instant(rfc3339: "refunded_at")
        let isPaused = fields["auto_resume_date"] != nil && !expiry.isAfter(instant)
        let period = BillingPeriod(
            product: try product.withPlan(fields), entitlements: entitlements.filter { $0.product == product }.map(\.name),
            isTrial: type == "trial", renews: renews, purchasedAt: try fields.instant(rfc3339: "purchase_date"), expiry: expiry)
        return PurchaseObservation(
            reference: try fields.reference(store), period: period, willRenew: renews && fields["unsubscribe_detected_at"] == nil,
            hasBillingIssue: fields["billing_issues_detected_at"] != nil,
            graceUntil: try fields.instant(rfc3339: "grace_period_expires_date"),
            end: refundedAt != nil ? .refunded : isPaused ? .paused : nil, endedAt: refundedAt ?? (isPaused ? expiry.instant : nil))
    }

    private static func purchase(
        _ product: String, _ fields: EventFields, _ entitlements: [Entitlement], _ expiry: Expiry
    ) throws(IgnoredReason) -> PurchaseObservation {
        let period = BillingPeriod(
            product: product, entitlements: entitlements.filter { $0.product == product }.map(\.name), renews: false,
            purchasedAt: try fields.instant(rfc3339: "purchase_date"), expiry: expiry)
        return PurchaseObservation(reference: try fields.reference(try fields.store()), period: period, willRenew: false)
    }
}

extension EventFields {
    fileprivate func store() throws(IgnoredReason) -> BillingStore {
        BillingStore(rawValue: try required("store", text("store")).lowercased())
    }

    fileprivate func reference(_ store: BillingStore) throws(IgnoredReason) -> PurchaseReference {
        PurchaseReference(
            environment: try bool("is_sandbox") == true ? .sandbox : .production, store: store,
            transaction: try text("store_transaction_id"))
    }

    /// Whether it was given in RevenueCat's dashboard.
    fileprivate var isGranted: Bool {
        get throws(IgnoredReason) { try store().rawValue == "promotional" }
    }

    /// Lifetime grants of RevenueCat's dashboard expire after 200 years, which no `BillingInstant` can be.
    fileprivate func expiry(isGranted: Bool) throws(IgnoredReason) -> Expiry {
        do throws(IgnoredReason) {
            return .at(try required("expires_date", instant(rfc3339: "expires_date")))
        } catch {
            guard isGranted else { throw error }
            return .never
        }
    }
}

extension String {
    /// Events name a product of Google Play with its base plan.
    fileprivate func withPlan(_ fields: EventFields) throws(IgnoredReason) -> String {
        guard let plan = try fields.text("product_plan_identifier"), !contains(":") else { return self }
        return "\(self):\(plan)"
    }
}
