import CoachCore
import JSON

extension GatewayError {
    /// A rejection, with what a client needs to show a paywall. If no tier helps, the user message offers no upgrade. `details` has
    /// - `tier`: the user's tier;
    /// - `upgrade_tier`: the nearest tier without this limit;
    /// - `entitlement`: the one that gives that tier;
    /// - `domain`: if the user's tier does not include it.
    public init(_ rejection: Rejection, offering tiers: TierBook) {
        self.init(rejection)
        offerUpgrade(after: rejection, in: tiers)
    }

    private mutating func offerUpgrade(after rejection: Rejection, in tiers: TierBook) {
        guard code == .quotaExhausted || code == .subscriptionRequired else { return }
        if let tier = rejection.tier { details.append(("tier", .string(tier))) }
        if let domain = rejection.domain { details.append(("domain", .string(domain.rawValue))) }
        guard let upgrade = tiers.upgrade(after: rejection) else {
            userMessage = userMessage ?? rejection.withoutUpgrade
            return
        }
        details.append(("upgrade_tier", .string(upgrade.name)))
        if let entitlement = upgrade.entitlements.first(where: { $0 != TierBook.anyEntitlement }) {
            details.append(("entitlement", .string(entitlement)))
        }
    }
}

extension Rejection {
    /// The user message when no tier has a higher limit.
    fileprivate var withoutUpgrade: String? {
        switch reason {
        case .quotaExhausted: "You've reached today's limit. Let's continue tomorrow."
        case .budgetExhausted: "We've talked as much as I can for now. Let's continue soon."
        default: nil
        }
    }
}
