import JSON

/// The stored form of a timeline: an array of states with the instant from which each is true.
extension EntitlementTimeline {
    public var json: JSONValue {
        .array(
            segments.map { segment in
                .members([("from", segment.from.map { .integer($0.milliseconds) }), ("state", segment.state.json)])
            })
    }

    /// nil for anything that `json` did not write.
    public init?(json: JSONValue) {
        guard let elements = json.elements, !elements.isEmpty else { return nil }
        let segments = elements.compactMap { element in
            element["state"].flatMap(EntitlementState.init(json:)).map { Segment(from: BillingInstant(json: element["from"]), state: $0) }
        }
        guard segments.count == elements.count else { return nil }
        self.init(segments: segments)
    }
}

extension EntitlementState {
    fileprivate var json: JSONValue {
        .members([
            ("active", .bool(isActive)), ("status", .string(status.rawValue)), ("entitlement", entitlement.map { .string($0) }),
            ("product", product.map { .string($0) }), ("is_trial", .bool(isTrial)),
            ("expires_at", expiresAt.map { .integer($0.milliseconds) }),
            ("will_renew", .bool(willRenew)), ("in_grace", .bool(inGrace)), ("store", store.map { .string($0.rawValue) }),
            ("access_until", accessUntil?.json),
        ])
    }

    fileprivate init?(json: JSONValue) {
        guard let isActive = json["active"]?.bool, let status = json["status"]?.string.flatMap(Status.init(rawValue:)),
            let isTrial = json["is_trial"]?.bool, let willRenew = json["will_renew"]?.bool, let inGrace = json["in_grace"]?.bool
        else { return nil }
        self.init(
            isActive: isActive, status: status, entitlement: json["entitlement"]?.string, product: json["product"]?.string,
            isTrial: isTrial,
            expiresAt: BillingInstant(json: json["expires_at"]), willRenew: willRenew, inGrace: inGrace,
            store: json["store"]?.string.map { BillingStore(rawValue: $0) }, accessUntil: Expiry(json: json["access_until"]))
    }
}

// MARK: - Parts

extension BillingInstant {
    /// Milliseconds; nil for anything else.
    init?(json: JSONValue?) {
        guard let milliseconds = json?.integer else { return nil }
        self.init(milliseconds: milliseconds)
    }
}

extension Expiry {
    /// Milliseconds since 1970, or `never`.
    public var json: JSONValue {
        switch self {
        case .at(let instant): .integer(instant.milliseconds)
        case .never: "never"
        }
    }

    init?(json: JSONValue?) {
        if json?.string == "never" {
            self = .never
        } else {
            guard let instant = BillingInstant(json: json) else { return nil }
            self = .at(instant)
        }
    }
}

extension JSONValue {
    /// An object of the members that are not nil.
    static func members(_ members: [(String, JSONValue?)]) -> JSONValue {
        .object(members.compactMap { name, value in value.map { JSONMember(name, $0) } })
    }
}
