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

    /// nil for anything that `json` did not write.
    public init?(json: JSONValue) {
        guard let elements = json["purchases"]?.elements, let groups = json["subscribers"]?.elements else { return nil }
        let purchases = elements.compactMap { Purchase(json: $0) }
        guard purchases.count == elements.count else { return nil }
        var identities = SubscriberIdentities()
        for group in groups {
            guard let ids = [SubscriberID](json: group), !ids.isEmpty else { return nil }
            identities.link(ids)
        }
        var replaced: [PurchaseReference: BillingInstant] = [:]
        for element in json["replaced"]?.elements ?? [] {
            guard let reference = element["reference"].flatMap(PurchaseReference.init(json:)), let at = BillingInstant(json: element["at"])
            else { return nil }
            replaced[reference] = at
        }
        var payments: [String: String] = [:]
        for element in json["payments"]?.elements ?? [] {
            guard let invoice = element["invoice"]?.string, let payment = element["payment"]?.string else { return nil }
            payments[invoice] = payment
        }
        let last = json["last"].map { BillingEvent.Position(json: $0) }
        if case .some(nil) = last { return nil }
        self.init(purchases: purchases, identities: identities, replaced: replaced, payments: payments, last: last ?? nil)
    }
}

extension BillingEvent.Position {
    fileprivate var json: JSONValue {
        .members([
            ("at", .integer(occurredAt.milliseconds)), ("rank", .integer(Int64(rank))), ("sequence", .integer(Int64(sequence))),
            ("source", .string(source)), ("id", .string(id)),
        ])
    }

    fileprivate init?(json: JSONValue) {
        guard let at = BillingInstant(json: json["at"]), let rank = json["rank"]?.integer,
            let sequence = json["sequence"]?.integer.flatMap({ UInt8(exactly: $0) }), let source = json["source"]?.string,
            let id = json["id"]?.string
        else { return nil }
        self.init(occurredAt: at, rank: Int(rank), sequence: sequence, source: source, id: id)
    }
}

extension Purchase {
    fileprivate var json: JSONValue {
        func flag(_ value: Bool) -> JSONValue? { value ? .bool(true) : nil }
        return .members([
            ("reference", reference.json), ("owner", .string(owner.text)), ("period", period.json),
            ("next_product", nextProduct.map { .string($0) }), ("will_renew", .bool(willRenew)), ("billing_issue", flag(hasBillingIssue)),
            ("grace_until", graceUntil.map { .integer($0.milliseconds) }), ("pause_scheduled", flag(isPauseScheduled)), ("end", end?.json),
            ("temporary", flag(isTemporary)), ("final", flag(isFinal)), ("direct", flag(isDirect)),
        ])
    }

    fileprivate init?(json: JSONValue) {
        guard let reference = json["reference"].flatMap(PurchaseReference.init(json:)),
            let owner = json["owner"]?.string.flatMap({ SubscriberID($0) }), let period = json["period"].flatMap(BillingPeriod.init(json:)),
            let willRenew = json["will_renew"]?.bool
        else { return nil }
        func flag(_ name: String) -> Bool { json[name]?.bool ?? false }
        self.init(reference: reference, owner: owner, period: period)
        nextProduct = json["next_product"]?.string
        self.willRenew = willRenew
        hasBillingIssue = flag("billing_issue")
        graceUntil = BillingInstant(json: json["grace_until"])
        isPauseScheduled = flag("pause_scheduled")
        if let stored = json["end"] {
            guard let end = End(json: stored) else { return nil }
            self.end = end
        }
        isTemporary = flag("temporary")
        isFinal = flag("final")
        isDirect = flag("direct")
    }
}

extension Purchase.End {
    fileprivate var json: JSONValue { ["at": .integer(at.milliseconds), "reason": .string(reason.rawValue)] }

    fileprivate init?(json: JSONValue) {
        guard let at = BillingInstant(json: json["at"]), let reason = json["reason"]?.string.flatMap(Reason.init(rawValue:)) else {
            return nil
        }
        self.init(at: at, reason: reason)
    }
}
