import JSON

/// `GET /api/v1/me/subscription`.
public struct SubscriptionResource: Sendable, Equatable {
    /// Whether the user has access now.
    public var active: Bool
    /// `none`, `active`, `trial`, `grace`, `cancelled` (active until its end), `paused`, `expired`, `refunded` or `revoked`.
    public var status: String
    /// The entitlement of the subscription; nil when it has no name, and without one.
    public var entitlement: String?
    public var isTrial: Bool
    /// The end of access, a grace period included; nil without a subscription and for one without end.
    public var expiresAt: Timestamp?
    public var willRenew: Bool
    public var inGrace: Bool
    /// Where it was bought, such as `app_store`; `manual` for a grant by an operator.
    public var store: String?
    /// The page where the user changes or cancels it; nil where the store has none, and from a gateway of a release that did not send it.
    public var managementURL: String?

    public init(
        active: Bool, status: String, entitlement: String?, isTrial: Bool, expiresAt: Timestamp?, willRenew: Bool, inGrace: Bool,
        store: String?, managementURL: String?
    ) {
        self.active = active
        self.status = status
        self.entitlement = entitlement
        self.isTrial = isTrial
        self.expiresAt = expiresAt
        self.willRenew = willRenew
        self.inGrace = inGrace
        self.store = store
        self.managementURL = managementURL
    }
}

extension SubscriptionResource: WireResource {
    public static let schemaName = "Subscription"
    public static let fields: [Schema.Field] = [
        .init("active", .boolean),
        .init("status", .values(["none", "active", "trial", "grace", "cancelled", "paused", "expired", "refunded", "revoked"])),
        .init("entitlement", .text.nullable), .init("is_trial", .boolean), .init("expires_at", .time.nullable),
        .init("will_renew", .boolean), .init("in_grace", .boolean), .init("store", .text.nullable), .init("management_url", .text.nullable),
    ]

    /// Writes the subscription as a JSON object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("active", active)
            writer.member("status", status)
            writer.member("entitlement", entitlement)
            writer.member("is_trial", isTrial)
            writer.member("expires_at", expiresAt)
            writer.member("will_renew", willRenew)
            writer.member("in_grace", inGrace)
            writer.member("store", store)
            writer.member("management_url", managementURL)
        }
    }
}
