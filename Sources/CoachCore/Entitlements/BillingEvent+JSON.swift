import JSON

/// The stored form of billing events. Readers accept what earlier versions wrote.
extension BillingEvent {
    public var json: JSONValue {
        .members([
            ("source", .string(source.rawValue)), ("id", .string(id)), ("at", .integer(occurredAt.milliseconds)),
            ("subject", .array(subject.map { .string($0.text) })), ("sequence", sequence == 0 ? nil : .integer(Int64(sequence))),
            ("change", change.json),
        ])
    }

    /// nil for anything that `json` did not write.
    public init?(json: JSONValue) {
        guard let source = json["source"]?.string.flatMap(BillingSource.init(rawValue:)), let id = json["id"]?.string,
            let at = BillingInstant(json: json["at"]), let subject = [SubscriberID](json: json["subject"]),
            let change = json["change"].flatMap(BillingChange.init(json:))
        else { return nil }
        let sequence = json["sequence"]?.integer.flatMap { UInt8(exactly: $0) } ?? 0
        self.init(source: source, id: id, occurredAt: at, subject: subject, change: change, sequence: sequence)
    }
}

extension BillingChange {
    fileprivate var json: JSONValue {
        switch self {
        case .purchase(let reference, let event, let period):
            .members([("purchase", event.json), ("reference", reference.json), ("period", period.json)])
        case .observation(let observation): .members([("observation", observation.json)])
        case .snapshot(let observations): .members([("snapshot", .array(observations.map(\.json)))])
        case .transfer(let from, let to, let store, let environment):
            .members([
                ("from", .array(from.map { .string($0.text) })), ("to", .array(to.map { .string($0.text) })),
                ("store", store.map { .string($0.rawValue) }), ("environment", environment.map { .string($0.rawValue) }),
            ])
        case .grant(let entitlement, let until): .members([("grant", .string(entitlement)), ("until", until.json)])
        case .revocation(let entitlement): .members([("revocation", entitlement.map { .string($0) } ?? .null)])
        case .payment(let payment, let invoice): .members([("payment", .string(payment)), ("invoice", .string(invoice))])
        case .identity: .object([])
        }
    }

    fileprivate init?(json: JSONValue) {
        if let event = json["purchase"] {
            guard let event = PurchaseEvent(json: event), let reference = json["reference"].flatMap(PurchaseReference.init(json:)),
                let period = json["period"].flatMap(BillingPeriod.init(json:))
            else { return nil }
            self = .purchase(reference, event, period)
        } else if let observation = json["observation"] {
            guard let observation = PurchaseObservation(json: observation) else { return nil }
            self = .observation(observation)
        } else if let elements = json["snapshot"]?.elements {
            let observations = elements.compactMap { PurchaseObservation(json: $0) }
            guard observations.count == elements.count else { return nil }
            self = .snapshot(observations)
        } else if let from = json["from"] {
            guard let from = [SubscriberID](json: from), let to = [SubscriberID](json: json["to"]) else { return nil }
            self = .transfer(
                from: from, to: to, store: json["store"]?.string.map { BillingStore(rawValue: $0) },
                environment: json["environment"]?.string.flatMap(BillingEnvironment.init(rawValue:)))
        } else if let entitlement = json["grant"]?.string {
            guard let until = Expiry(json: json["until"]) else { return nil }
            self = .grant(entitlement: entitlement, until: until)
        } else if let entitlement = json["revocation"] {
            self = .revocation(entitlement: entitlement.string)
        } else if let payment = json["payment"]?.string {
            guard let invoice = json["invoice"]?.string else { return nil }
            self = .payment(payment, invoice: invoice)
        } else if json == .object([]) {
            self = .identity
        } else {
            return nil
        }
    }
}

extension PurchaseEvent {
    fileprivate var json: JSONValue {
        switch self {
        case .temporaryGrant: "temporary_grant"
        case .purchased: "purchased"
        case .productChange(let product): .members([("change_to", product.map { .string($0) } ?? .null)])
        case .pauseScheduled: "pause_scheduled"
        case .billingIssue(let grace): .members([("grace_until", grace.map { .integer($0.milliseconds) } ?? .null)])
        case .cancelled: "cancelled"
        case .expired(let paused): paused ? "paused" : "expired"
        case .refunded: "refunded"
        case .uncancelled: "uncancelled"
        case .extended: "extended"
        case .renewed: "renewed"
        case .refundReversed: "refund_reversed"
        }
    }

    fileprivate init?(json: JSONValue) {
        switch json.string {
        case "temporary_grant": self = .temporaryGrant
        case "purchased": self = .purchased
        case "pause_scheduled": self = .pauseScheduled
        case "cancelled": self = .cancelled
        case "expired": self = .expired(paused: false)
        case "paused": self = .expired(paused: true)
        case "refunded": self = .refunded
        case "uncancelled": self = .uncancelled
        case "extended": self = .extended
        case "renewed": self = .renewed
        case "refund_reversed": self = .refundReversed
        default:
            if let product = json["change_to"] {
                self = .productChange(to: product.string)
            } else if let grace = json["grace_until"] {
                self = .billingIssue(graceUntil: BillingInstant(json: grace))
            } else {
                return nil
            }
        }
    }
}

extension PurchaseReference {
    var json: JSONValue {
        .members([
            ("environment", .string(environment.rawValue)), ("store", .string(store.rawValue)),
            ("original", originalTransaction.map { .string($0) }), ("transaction", transaction.map { .string($0) }),
            ("invoice", invoice.map { .string($0) }),
        ])
    }

    init?(json: JSONValue) {
        guard let environment = json["environment"]?.string.flatMap(BillingEnvironment.init(rawValue:)), let store = json["store"]?.string
        else { return nil }
        self.init(
            environment: environment, store: BillingStore(rawValue: store), originalTransaction: json["original"]?.string,
            transaction: json["transaction"]?.string, invoice: json["invoice"]?.string)
    }
}

extension BillingPeriod {
    var json: JSONValue {
        .members([
            ("product", product.map { .string($0) }), ("entitlements", .array(entitlements.map { .string($0) })),
            ("is_trial", isTrial ? true : nil), ("renews", .bool(renews)), ("purchased_at", purchasedAt.map { .integer($0.milliseconds) }),
            ("expiry", expiry?.json),
        ])
    }

    init?(json: JSONValue) {
        guard let entitlements = json["entitlements"]?.elements, let renews = json["renews"]?.bool else { return nil }
        self.init(
            product: json["product"]?.string, entitlements: entitlements.compactMap(\.string), isTrial: json["is_trial"]?.bool ?? false,
            renews: renews, purchasedAt: BillingInstant(json: json["purchased_at"]), expiry: Expiry(json: json["expiry"]))
    }
}

extension PurchaseObservation {
    fileprivate var json: JSONValue {
        let ending: JSONValue? =
            switch end {
            case nil: nil
            case .expired: "expired"
            case .paused: "paused"
            case .refunded: "refunded"
            }
        return .members([
            ("reference", reference.json), ("period", period.json), ("will_renew", .bool(willRenew)),
            ("billing_issue", hasBillingIssue ? true : nil), ("grace_until", graceUntil.map { .integer($0.milliseconds) }), ("end", ending),
            ("ended_at", endedAt.map { .integer($0.milliseconds) }), ("final", isFinal ? true : nil),
            ("replaces", replaces.map { .string($0) }), ("has_refund", hasRefund ? true : nil),
        ])
    }

    fileprivate init?(json: JSONValue) {
        guard let reference = json["reference"].flatMap(PurchaseReference.init(json:)),
            let period = json["period"].flatMap(BillingPeriod.init(json:)), let willRenew = json["will_renew"]?.bool
        else { return nil }
        let end: End?
        switch json["end"]?.string {
        case nil: end = nil
        case "expired": end = .expired
        case "paused": end = .paused
        case "refunded": end = .refunded
        default: return nil
        }
        self.init(
            reference: reference, period: period, willRenew: willRenew, hasBillingIssue: json["billing_issue"]?.bool ?? false,
            graceUntil: BillingInstant(json: json["grace_until"]), end: end, endedAt: BillingInstant(json: json["ended_at"]),
            isFinal: json["final"]?.bool ?? false, replaces: json["replaces"]?.string, hasRefund: json["has_refund"]?.bool ?? false)
    }
}
