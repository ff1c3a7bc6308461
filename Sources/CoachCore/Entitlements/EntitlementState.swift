/// What a subscriber may use at an instant, and why.
public struct EntitlementState: Hashable, Sendable {
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// No purchase is known.
        case none
        case active, trial
        /// A payment failed; access lasts until the end of the store's grace period.
        case grace
        /// Active, but automatic renewal is switched off.
        case cancelled
        case paused, expired, refunded, revoked
    }

    public var isActive: Bool
    public var status: Status
    /// nil when the purchase names none.
    public var entitlement: String?
    public var product: String?
    public var isTrial: Bool
    /// The end of access, a grace period included; in the past when access has ended. nil without a purchase and for access without end.
    public var expiresAt: BillingInstant?
    public var willRenew: Bool
    public var inGrace: Bool
    public var store: BillingStore?
    /// Until when a gate must let the subscriber through: `expiresAt`, and longer while the event of a renewal may be late. nil when access has ended.
    public var accessUntil: Expiry?

    /// The state without any purchase.
    public static let none = Self(
        isActive: false, status: .none, entitlement: nil, product: nil, isTrial: false, expiresAt: nil, willRenew: false, inGrace: false,
        store: nil, accessUntil: nil)

    /// Compared in lexicographic order; the greatest is shown.
    fileprivate var preference: (Int, Int, Int, Expiry) {
        (isActive ? 1 : 0, isTrial ? 0 : 1, inGrace ? 0 : 1, accessUntil ?? .at(expiresAt ?? .first))
    }
}

extension EntitlementFold {
    /// A renewing subscription without an event keeps access at the gate for this long after its expiry, because the event of its renewal can be
    /// late: RevenueCat's last retry comes 155 minutes after the first attempt. Stale data favours the user.
    public static let renewalDelay: Int64 = 3 * 60 * 60 * 1000

    /// The state of a subscriber at an instant, by all that is known now: of their best purchase, or of one entitlement's when named.
    ///
    /// Best is an active one, then a paid one before a trial, then the one that lasts longest.
    public func state(
        of subscriber: SubscriberID, entitlement: String? = nil, at instant: BillingInstant, includingSandbox: Bool = false
    ) -> EntitlementState {
        var best: EntitlementState?
        for purchase in purchases where includingSandbox || purchase.reference.environment == .production {
            guard isSame(purchase.owner, subscriber), entitlement.map(purchase.period.entitlements.contains) ?? true else { continue }
            let state = purchase.state(of: entitlement, at: instant)
            // Of equals the purchase that appeared last.
            if best.map({ state.preference >= $0.preference }) ?? true { best = state }
        }
        return best ?? .none
    }

    /// The instants at which a state can change without a new event.
    public var boundaries: [BillingInstant] {
        Set(
            purchases.flatMap { purchase -> [BillingInstant?] in
                let expiry = purchase.period.expiry?.instant
                let ends = [purchase.end?.at] + purchase.revocations.map(\.at)
                return ends + [expiry, purchase.graceUntil, expiry?.advanced(by: Self.renewalDelay)]
            }.compactMap { $0 }
        ).sorted()
    }
}

extension Purchase {
    /// When access ends by the known period and grace period; nil when no end is known.
    private var paidUntil: Expiry? {
        guard let expiry = period.expiry else { return graceUntil.map(Expiry.at) }
        return max(expiry, graceUntil.map(Expiry.at) ?? expiry)
    }

    /// The state of one of its entitlements, of the purchase for nil.
    func state(of entitlement: String?, at instant: BillingInstant) -> EntitlementState {
        let end = end(of: entitlement)
        // An end that is known applies at once, even if the sender's clock is ahead of ours.
        let isActive = end == nil && paidUntil?.isAfter(instant) ?? false
        let inGrace = isActive && hasBillingIssue && graceUntil.map { $0 > instant } ?? false
        let renews = willRenew && !isPauseScheduled
        return EntitlementState(
            isActive: isActive, status: status(isActive: isActive, inGrace: inGrace, end),
            entitlement: entitlement ?? openEntitlements.first ?? period.entitlements.first, product: period.product,
            isTrial: isActive && period.isTrial, expiresAt: end?.at ?? paidUntil?.instant, willRenew: isActive && renews, inGrace: inGrace,
            store: reference.store, accessUntil: end == nil ? accessUntil(renews: renews) : nil)
    }

    private func accessUntil(renews: Bool) -> Expiry? {
        guard graceUntil == nil, renews, case .at(let instant)? = paidUntil else { return paidUntil }
        return .at(instant.advanced(by: EntitlementFold.renewalDelay))
    }

    private func status(isActive: Bool, inGrace: Bool, _ end: End?) -> EntitlementState.Status {
        if isActive {
            if inGrace { return .grace }
            if period.isTrial { return .trial }
            return willRenew || isPauseScheduled || !period.renews ? .active : .cancelled
        }
        return switch end?.reason {
        case .refunded: .refunded
        case .revoked: .revoked
        case .paused: .paused
        case .expired, .replaced, nil: .expired
        }
    }
}
