import JSON

/// The stored form of billing events, which `BillingEvent+reading.swift` reads. Readers accept what earlier versions wrote.
extension BillingEvent {
    public var json: JSONValue {
        .members([
            ("source", .string(source.rawValue)), ("id", .string(id)), ("at", .integer(occurredAt.milliseconds)),
            ("subject", .array(subject.map { .string($0.text) })), ("sequence", sequence == 0 ? nil : .integer(Int64(sequence))),
            ("change", change.json),
        ])
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
}

extension PurchaseReference {
    var json: JSONValue {
        .members([
            ("environment", .string(environment.rawValue)), ("store", .string(store.rawValue)),
            ("original", originalTransaction.map { .string($0) }), ("transaction", transaction.map { .string($0) }),
            ("invoice", invoice.map { .string($0) }),
        ])
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
            ("replaces", replaces.map { .string($0) }), ("has_refund", hasRefund ? true : nil), ("unpaid", isUnpaid ? true : nil),
        ])
    }
}
