import JSON

/// The stored form of a fold, with which a later event is folded without reading the earlier ones. Written and read by the same version of the
/// fold alone.
extension EntitlementFold {
    public var json: JSONValue {
        .members([
            ("purchases", .array(purchases.map(\.json))),
            ("subscribers", .array(identities.groups.map { ids in .array(ids.map { .string($0.text) }) })),
            (
                "replaced",
                .array(replaced.map { reference, at in ["reference": reference.json, "at": .integer(at.milliseconds)] })
            ),
            ("payments", .array(payments.map { invoice, payment in ["invoice": .string(invoice), "payment": .string(payment)] })),
            ("last", last?.json),
        ])
    }

    /// Throws for anything that `json` did not write.
    public init(parsing bytes: [UInt8]) throws {
        var purchases: [Purchase]?
        var groups: [[SubscriberID]]?
        var replaced: [PurchaseReference: BillingInstant] = [:]
        var payments: [String: String] = [:]
        var last: BillingEvent.Position?
        var cursor = JSONCursor(bytes)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "purchases": purchases = try cursor.readArray { cursor in try Purchase(reading: &cursor) }
            case "subscribers": groups = try cursor.readArray { cursor in try cursor.readSubscriberIDs() }
            case "replaced":
                for (reference, at) in try cursor.readArray(Self.readReplaced) { replaced[reference] = at }
            case "payments":
                for (invoice, payment) in try cursor.readArray(Self.readPayment) { payments[invoice] = payment }
            case "last": last = try BillingEvent.Position(reading: &cursor)
            default: break
            }
        }
        try cursor.finish()
        guard let purchases, let groups else { throw UnreadableBilling() }
        var identities = SubscriberIdentities()
        for group in groups {
            if group.isEmpty { throw UnreadableBilling() }
            identities.link(group)
        }
        self.init(purchases: purchases, identities: identities, replaced: replaced, payments: payments, last: last)
    }

    private static func readReplaced(_ cursor: inout JSONCursor) throws -> (PurchaseReference, BillingInstant) {
        var reference: PurchaseReference?
        var at: BillingInstant?
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "reference": reference = try PurchaseReference(reading: &cursor)
            case "at": at = try BillingInstant(reading: &cursor)
            default: break
            }
        }
        guard let reference, let at else { throw UnreadableBilling() }
        return (reference, at)
    }

    private static func readPayment(_ cursor: inout JSONCursor) throws -> (invoice: String, payment: String) {
        var (invoice, payment): (String?, String?)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "invoice": invoice = try cursor.readString()
            case "payment": payment = try cursor.readString()
            default: break
            }
        }
        guard let invoice, let payment else { throw UnreadableBilling() }
        return (invoice, payment)
    }
}

extension BillingEvent.Position {
    fileprivate var json: JSONValue {
        .members([
            ("at", .integer(occurredAt.milliseconds)), ("rank", .integer(Int64(rank))), ("sequence", .integer(Int64(sequence))),
            ("source", .string(source)), ("id", .string(id)),
        ])
    }

    fileprivate init(reading cursor: inout JSONCursor) throws {
        var at: BillingInstant?
        var (rank, sequence): (Int?, UInt8?)
        var (source, id): (String?, String?)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "at": at = try BillingInstant(reading: &cursor)
            case "rank": rank = try cursor.readInteger()
            case "sequence": sequence = UInt8(exactly: try cursor.readInteger())
            case "source": source = try cursor.readString()
            case "id": id = try cursor.readString()
            default: break
            }
        }
        guard let at, let rank, let sequence, let source, let id else { throw UnreadableBilling() }
        self.init(occurredAt: at, rank: rank, sequence: sequence, source: source, id: id)
    }
}

extension Purchase {
    fileprivate var json: JSONValue {
        func flag(_ value: Bool) -> JSONValue? { value ? .bool(true) : nil }
        return .members([
            ("reference", reference.json), ("owner", .string(owner.text)), ("period", period.json),
            ("change", change?.json), ("will_renew", .bool(willRenew)), ("billing_issue", flag(hasBillingIssue)),
            ("grace_until", graceUntil.map { .integer($0.milliseconds) }), ("pause_scheduled", flag(isPauseScheduled)), ("end", end?.json),
            ("revocations", revocations.isEmpty ? nil : .array(revocations.map(\.json))), ("temporary", flag(isTemporary)),
            ("granted_until", grantedUntil.map { .integer($0.milliseconds) }), ("paid_since", paidSince.map { .integer($0.milliseconds) }),
            ("earlier_payments", earlierPayments.isEmpty ? nil : .array(earlierPayments.map(\.json))), ("final", flag(isFinal)),
            ("direct", flag(isDirect)),
        ])
    }

    fileprivate init(reading cursor: inout JSONCursor) throws {
        var reference: PurchaseReference?
        var owner: SubscriberID?
        var period: BillingPeriod?
        var (graceUntil, grantedUntil, paidSince): (BillingInstant?, BillingInstant?, BillingInstant?)
        var (change, end): (ProductChange?, End?)
        var willRenew: Bool?
        var revocations: [Revocation] = []
        var earlierPayments: [PurchaseReference] = []
        var (hasBillingIssue, isPauseScheduled, isTemporary, isFinal, isDirect) = (false, false, false, false, false)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "reference": reference = try PurchaseReference(reading: &cursor)
            case "owner": owner = SubscriberID(try cursor.readString())
            case "period": period = try BillingPeriod(reading: &cursor)
            case "change": change = try ProductChange(reading: &cursor)
            case "will_renew": willRenew = try cursor.readBool()
            case "billing_issue": hasBillingIssue = try cursor.readBool()
            case "grace_until": graceUntil = try BillingInstant(reading: &cursor)
            case "pause_scheduled": isPauseScheduled = try cursor.readBool()
            case "granted_until": grantedUntil = try BillingInstant(reading: &cursor)
            case "paid_since": paidSince = try BillingInstant(reading: &cursor)
            case "earlier_payments": earlierPayments = try cursor.readArray { cursor in try PurchaseReference(reading: &cursor) }
            case "end": end = try End(reading: &cursor)
            case "revocations": revocations = try cursor.readArray { cursor in try Revocation(reading: &cursor) }
            case "temporary": isTemporary = try cursor.readBool()
            case "final": isFinal = try cursor.readBool()
            case "direct": isDirect = try cursor.readBool()
            default: break
            }
        }
        guard let reference, let owner, let period, let willRenew else { throw UnreadableBilling() }
        self.init(reference: reference, owner: owner, period: period)
        self.change = change
        self.willRenew = willRenew
        self.hasBillingIssue = hasBillingIssue
        self.graceUntil = graceUntil
        self.isPauseScheduled = isPauseScheduled
        self.end = end
        self.revocations = revocations
        self.grantedUntil = grantedUntil
        self.paidSince = paidSince
        self.earlierPayments = earlierPayments
        self.isTemporary = isTemporary
        self.isFinal = isFinal
        self.isDirect = isDirect
    }
}

extension Purchase.End {
    fileprivate var json: JSONValue { ["at": .integer(at.milliseconds), "reason": .string(reason.rawValue)] }

    fileprivate init(reading cursor: inout JSONCursor) throws {
        var (at, reason): (BillingInstant?, Reason?)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "at": at = try BillingInstant(reading: &cursor)
            case "reason": reason = Reason(rawValue: try cursor.readString())
            default: break
            }
        }
        guard let at, let reason else { throw UnreadableBilling() }
        self.init(at: at, reason: reason)
    }
}

extension Purchase.Revocation {
    fileprivate var json: JSONValue { .members([("at", .integer(at.milliseconds)), ("entitlement", entitlement.map { .string($0) })]) }

    fileprivate init(reading cursor: inout JSONCursor) throws {
        var (at, entitlement): (BillingInstant?, String?)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "at": at = try BillingInstant(reading: &cursor)
            case "entitlement": entitlement = try cursor.readString()
            default: break
            }
        }
        guard let at else { throw UnreadableBilling() }
        self.init(at: at, entitlement: entitlement)
    }
}

extension Purchase.ProductChange {
    fileprivate var json: JSONValue { .members([("at", .integer(at.milliseconds)), ("to", product.map { .string($0) })]) }

    fileprivate init(reading cursor: inout JSONCursor) throws {
        var (at, product): (BillingInstant?, String?)
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "at": at = try BillingInstant(reading: &cursor)
            case "to": product = try cursor.readString()
            default: break
            }
        }
        guard let at else { throw UnreadableBilling() }
        self.init(to: product, at: at)
    }
}
