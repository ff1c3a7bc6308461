import CoachCore
import HTTPEdge
import JSON

extension GatewayError {
    /// Adds what an app needs to show its paywall: `details.tier`, the user's; `details.upgrade_tier`, the nearest one that lifts the limit, with
    /// `details.entitlement`, which gives it; `details.domain`, when the tier does not have it. Without such a tier the text offers none.
    mutating func offerUpgrade(after rejection: Rejection, in tiers: TierBook) {
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
    /// The text when no tier has more.
    fileprivate var withoutUpgrade: String? {
        switch reason {
        case .quotaExhausted: "You've reached today's limit. Let's continue tomorrow."
        case .budgetExhausted: "We've talked as much as I can for now. Let's continue soon."
        default: nil
        }
    }
}
