/// A budget of money and one day (UTC) that many users share.
public struct SharedBudget: Hashable, Sendable {
    /// Raw values are those of the database.
    public enum Scope: String, Sendable, CaseIterable {
        case installation, tier, persona
    }

    public let scope: Scope
    /// The tier's name or the persona's id; empty for the installation.
    public let id: String

    /// `installation`, `tier/free`, `persona/…`: for `begin_turn`.
    public var name: String { id.isEmpty ? scope.rawValue : "\(scope.rawValue)/\(id)" }

    public static let installation = SharedBudget(scope: .installation, id: "")
    public static func tier(_ name: String) -> SharedBudget { SharedBudget(scope: .tier, id: name) }
    public static func persona(_ id: PersonaID) -> SharedBudget { SharedBudget(scope: .persona, id: id.description) }
}

extension Sequence where Element == SharedBudget {
    /// The scope to name when all of these are exhausted: that of the tier last, because another tier lifts it alone. nil for none.
    public var decisiveScope: SharedBudget.Scope? {
        let scopes = Set(map(\.scope))
        return [.installation, .persona, .tier].first(where: scopes.contains)
    }
}

extension TierBook {
    /// The budgets that a turn draws on, with their limits.
    public func sharedBudgets(of tier: Tier, persona: PersonaID?) -> [(budget: SharedBudget, limit: Nanodollars)] {
        [
            (SharedBudget.installation, installationCostPerDay), (.tier(tier.name), tier.sharedCostPerDay),
            (persona.map(SharedBudget.persona) ?? .installation, persona == nil ? nil : personaCostPerDay),
        ].compactMap { budget, limit in limit.map { (budget, $0) } }
    }
}
