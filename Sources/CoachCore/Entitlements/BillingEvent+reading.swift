import JSON

/// What is stored of billing events, or of a fold, does not have the form in which it is written.
struct UnreadableBilling: Error {}

/// Reads what `BillingEvent+JSON.swift` writes, without a tree: a late event folds all events of its subscriber, which may be hundreds.
extension [BillingEvent] {
    /// The events of a JSON array. Throws for anything that `json` did not write.
    public init(parsing bytes: [UInt8]) throws {
        var cursor = JSONCursor(bytes)
        self = try cursor.readArray { cursor in try BillingEvent(reading: &cursor) }
        try cursor.finish()
    }
}

extension BillingEvent {
    fileprivate init(reading cursor: inout JSONCursor) throws {
        var source: BillingSource?
        var id: String?
        var occurredAt: BillingInstant?
        var subject: [SubscriberID]?
        var sequence: UInt8 = 0
        var change: BillingChange?
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "source": source = BillingSource(rawValue: try cursor.readString())
            case "id": id = try cursor.readString()
            case "at": occurredAt = try BillingInstant(reading: &cursor)
            case "subject": subject = try cursor.readSubscriberIDs()
            case "sequence": sequence = UInt8(clamping: try cursor.readInteger())
            case "change": change = try BillingChange(reading: &cursor)
            default: break
            }
        }
        guard let source, let id, let occurredAt, let subject, let change else { throw UnreadableBilling() }
        self.init(source: source, id: id, occurredAt: occurredAt, subject: subject, change: change, sequence: sequence)
    }
}

extension BillingChange {
    fileprivate init(reading cursor: inout JSONCursor) throws {
        // The members of the kinds; which are there tells the kind.
        var (event, reference, period): (PurchaseEvent?, PurchaseReference?, BillingPeriod?)
        var (from, to): ([SubscriberID]?, [SubscriberID]?)
        var (store, environment): (BillingStore?, BillingEnvironment?)
        var (grant, until): (String?, Expiry?)
        var (payment, invoice): (String?, String?)
        var change: BillingChange?
        var isEmpty = true
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            isEmpty = false
            switch key {
            case "purchase": event = try PurchaseEvent(reading: &cursor)
            case "reference": reference = try PurchaseReference(reading: &cursor)
            case "period": period = try BillingPeriod(reading: &cursor)
            case "observation": change = .observation(try PurchaseObservation(reading: &cursor))
            case "snapshot": change = .snapshot(try cursor.readArray { cursor in try PurchaseObservation(reading: &cursor) })
            case "from": from = try cursor.readSubscriberIDs()
            case "to": to = try cursor.readSubscriberIDs()
            case "store": store = BillingStore(rawValue: try cursor.readString())
            case "environment": environment = BillingEnvironment(rawValue: try cursor.readString())
            case "grant": grant = try cursor.readString()
            case "until": until = try Expiry(reading: &cursor)
            case "revocation": change = .revocation(entitlement: try cursor.skipNull() ? nil : cursor.readString())
            case "payment": payment = try cursor.readString()
            case "invoice": invoice = try cursor.readString()
            default: break
            }
        }
        if let change {
            self = change
        } else if let event, let reference, let period {
            self = .purchase(reference, event, period)
        } else if let from, let to {
            self = .transfer(from: from, to: to, store: store, environment: environment)
        } else if let grant, let until {
            self = .grant(entitlement: grant, until: until)
        } else if let payment, let invoice {
            self = .payment(payment, invoice: invoice)
        } else if isEmpty {
            self = .identity
        } else {
            throw UnreadableBilling()
        }
    }
}

extension PurchaseEvent {
    fileprivate init(reading cursor: inout JSONCursor) throws {
        guard try cursor.peek() == .object else {
            self = try Self(stored: try cursor.readString())
            return
        }
        var event: Self?
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "change_to": event = .productChange(to: try cursor.skipNull() ? nil : cursor.readString())
            case "grace_until": event = .billingIssue(graceUntil: try cursor.skipNull() ? nil : BillingInstant(reading: &cursor))
            default: break
            }
        }
        guard let event else { throw UnreadableBilling() }
        self = event
    }

    private init(stored text: String) throws {
        switch text {
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
        default: throw UnreadableBilling()
        }
    }
}

extension PurchaseReference {
    init(reading cursor: inout JSONCursor) throws {
        var environment: BillingEnvironment?
        var store: String?
        var (original, transaction, invoice): (String?, String?, String?)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "environment": environment = BillingEnvironment(rawValue: try cursor.readString())
            case "store": store = try cursor.readString()
            case "original": original = try cursor.readString()
            case "transaction": transaction = try cursor.readString()
            case "invoice": invoice = try cursor.readString()
            default: break
            }
        }
        guard let environment, let store else { throw UnreadableBilling() }
        self.init(
            environment: environment, store: BillingStore(rawValue: store), originalTransaction: original, transaction: transaction,
            invoice: invoice)
    }
}

extension BillingPeriod {
    init(reading cursor: inout JSONCursor) throws {
        var product: String?
        var entitlements: [String]?
        var isTrial = false
        var renews: Bool?
        var purchasedAt: BillingInstant?
        var expiry: Expiry?
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "product": product = try cursor.readString()
            case "entitlements": entitlements = try cursor.readArray { cursor in try cursor.readString() }
            case "is_trial": isTrial = try cursor.readBool()
            case "renews": renews = try cursor.readBool()
            case "purchased_at": purchasedAt = try BillingInstant(reading: &cursor)
            case "expiry": expiry = try Expiry(reading: &cursor)
            default: break
            }
        }
        guard let entitlements, let renews else { throw UnreadableBilling() }
        self.init(
            product: product, entitlements: entitlements, isTrial: isTrial, renews: renews, purchasedAt: purchasedAt, expiry: expiry)
    }
}

extension PurchaseObservation {
    fileprivate init(reading cursor: inout JSONCursor) throws {
        var reference: PurchaseReference?
        var period: BillingPeriod?
        var willRenew: Bool?
        var (hasBillingIssue, isFinal, hasRefund, isUnpaid) = (false, false, false, false)
        var (graceUntil, endedAt): (BillingInstant?, BillingInstant?)
        var end: End?
        var replaces: String?
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "reference": reference = try PurchaseReference(reading: &cursor)
            case "period": period = try BillingPeriod(reading: &cursor)
            case "will_renew": willRenew = try cursor.readBool()
            case "billing_issue": hasBillingIssue = try cursor.readBool()
            case "grace_until": graceUntil = try BillingInstant(reading: &cursor)
            case "end": end = try End(stored: try cursor.readString())
            case "ended_at": endedAt = try BillingInstant(reading: &cursor)
            case "final": isFinal = try cursor.readBool()
            case "replaces": replaces = try cursor.readString()
            case "has_refund": hasRefund = try cursor.readBool()
            case "unpaid": isUnpaid = try cursor.readBool()
            default: break
            }
        }
        guard let reference, let period, let willRenew else { throw UnreadableBilling() }
        self.init(
            reference: reference, period: period, willRenew: willRenew, hasBillingIssue: hasBillingIssue, graceUntil: graceUntil, end: end,
            endedAt: endedAt, isFinal: isFinal, replaces: replaces, hasRefund: hasRefund, isUnpaid: isUnpaid)
    }
}

extension PurchaseObservation.End {
    fileprivate init(stored text: String) throws {
        switch text {
        case "expired": self = .expired
        case "paused": self = .paused
        case "refunded": self = .refunded
        default: throw UnreadableBilling()
        }
    }
}

// MARK: - Parts

extension BillingInstant {
    init(reading cursor: inout JSONCursor) throws {
        guard let instant = Self(milliseconds: Int64(try cursor.readInteger())) else { throw UnreadableBilling() }
        self = instant
    }
}

extension Expiry {
    init(reading cursor: inout JSONCursor) throws {
        if try cursor.peek() == .number {
            self = .at(try BillingInstant(reading: &cursor))
        } else {
            guard try cursor.readString() == "never" else { throw UnreadableBilling() }
            self = .never
        }
    }
}

extension JSONCursor {
    mutating func readArray<Element>(_ read: (inout JSONCursor) throws -> Element) throws -> [Element] {
        var elements: [Element] = []
        try beginArray()
        while try nextElement() { elements.append(try read(&self)) }
        return elements
    }

    mutating func readSubscriberIDs() throws -> [SubscriberID] {
        try readArray { cursor in
            guard let id = SubscriberID(try cursor.readString()) else { throw UnreadableBilling() }
            return id
        }
    }
}
