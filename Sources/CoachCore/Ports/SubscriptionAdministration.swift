/// Port to operators' changes of subscriptions. They are events of the fold and in the audit log. `CoachStore` implements it on PostgreSQL.
///
/// Closures throw `StoreFault`, and `NotAllowed` when the caller is not an operator.
public struct SubscriptionAdministration: Sendable {
    /// The user's subscription after the change; nil without effect when there is no such user.
    public var change: @Sendable (Caller, UserID, SubscriptionEdit) async throws -> EntitlementTimeline?

    public init(change: @escaping @Sendable (Caller, UserID, SubscriptionEdit) async throws -> EntitlementTimeline?) {
        self.change = change
    }
}

/// A grant or revocation by hand.
public struct SubscriptionEdit: Sendable, Equatable {
    public enum Action: Sendable, Equatable {
        case grant(entitlement: String, until: Expiry)
        /// nil for all entitlements, of any origin.
        case revocation(entitlement: String?)
    }

    public var action: Action
    public var at: BillingInstant
    public var reason: String?
    /// For the audit log.
    public var requestID: String

    public init(_ action: Action, at: BillingInstant, reason: String?, requestID: String) {
        self.action = action
        self.at = at
        self.reason = reason
        self.requestID = requestID
    }
}
