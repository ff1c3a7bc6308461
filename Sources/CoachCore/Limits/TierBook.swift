/// All tiers and the limits beside them: the document `limits`, whose first version is `deploy/tiers.json`. Passed to each call of the database,
/// so that SQL contains no limit.
public struct TierBook: Sendable, Equatable {
    /// In `Tier.entitlements`: each entitlement that no tier names.
    public static let anyEntitlement = "*"

    /// Allowance of a user in danger beyond the ordinary limits (CONTRACT §4).
    public struct CrisisAllowance: Sendable, Equatable {
        /// Model calls a day (UTC).
        public var modelCallsPerDay: Int
        /// Concurrent turns, ordinary ones included.
        public var concurrentTurns: Int

        /// CONTRACT §4.
        public init(modelCallsPerDay: Int = 30, concurrentTurns: Int = 20) {
            self.modelCallsPerDay = modelCallsPerDay
            self.concurrentTurns = concurrentTurns
        }
    }

    /// From the lowest to the highest, at least one; the first is that of users without an entitlement.
    public let tiers: [Tier]
    public var crisis: CrisisAllowance
    /// Reserved for each running turn in budgets of money.
    public var reservePerTurn: Nanodollars?
    /// The same in users' budgets of tokens.
    public var reservedTokensPerTurn: Int?
    /// Cost of a day's turns (UTC) of all users.
    public var installationCostPerDay: Nanodollars?
    /// Cost of a day's turns (UTC) with one persona.
    public var personaCostPerDay: Nanodollars?
    /// How long an entitlement counts after its access has ended, beside `EntitlementFold.renewalDelay`: billing events may be late, and clocks
    /// differ.
    public var graceSeconds: Int
    /// Requests of one address without a valid token; nil does not limit.
    public var unauthenticatedRequestsPerMinute: Int?
    /// Positions in `tiers` by entitlement.
    public let paidTiers: [String: Int]
    /// The same for entitlements that are a trial. One without a tier for trials gives the tier that it gives when paid.
    public let trialTiers: [String: Int]

    /// By default the limits of CONTRACT §1. Of tiers that name the same entitlement the highest applies.
    public init(
        _ tiers: [Tier] = [Tier("free", messagesPerDay: 200, concurrentTurns: 5)], crisis: CrisisAllowance = CrisisAllowance(),
        reservePerTurn: Nanodollars? = nil, reservedTokensPerTurn: Int? = nil, installationCostPerDay: Nanodollars? = nil,
        personaCostPerDay: Nanodollars? = nil, graceSeconds: Int = 3_600, unauthenticatedRequestsPerMinute: Int? = nil
    ) {
        precondition(!tiers.isEmpty, "a book has at least one tier")
        self.tiers = tiers
        self.crisis = crisis
        self.reservePerTurn = reservePerTurn
        self.reservedTokensPerTurn = reservedTokensPerTurn
        self.installationCostPerDay = installationCostPerDay
        self.personaCostPerDay = personaCostPerDay
        self.graceSeconds = graceSeconds
        self.unauthenticatedRequestsPerMinute = unauthenticatedRequestsPerMinute
        func positions(isTrial: Bool) -> [String: Int] {
            tiers.enumerated().reduce(into: [:]) { result, tier in
                guard tier.element.isTrial == isTrial else { return }
                for name in tier.element.entitlements { result[name] = tier.offset }
            }
        }
        paidTiers = positions(isTrial: false)
        trialTiers = paidTiers.merging(positions(isTrial: true)) { _, trial in trial }
    }

    /// That of users without an entitlement.
    public var lowest: Tier { tiers[0] }

    /// The lowest tier for a name that the book does not have: it may have been renamed since the database was asked.
    public func tier(named name: String) -> Tier { tiers.first { $0.name == name } ?? lowest }

    /// The nearest higher tier in which the limit that rejected a request is higher; nil when there is none.
    public func upgrade(after rejection: Rejection) -> Tier? {
        guard let name = rejection.tier, let position = tiers.firstIndex(where: { $0.name == name }) else { return nil }
        let current = tiers[position]
        return tiers[(position + 1)...].first { $0.lifts(rejection, of: current) }
    }
}

extension Tier {
    fileprivate func lifts(_ rejection: Rejection, of current: Tier) -> Bool {
        switch rejection.reason {
        case .quotaExhausted: isMore(messagesPerDay, than: current.messagesPerDay)
        case .tooManyTurns: isMore(concurrentTurns, than: current.concurrentTurns)
        // Each tier has a shared budget of its own; those of the installation and of a persona are the same in all tiers.
        case .budgetExhausted where rejection.sharedBudget != nil: rejection.sharedBudget == .tier
        case .budgetExhausted:
            isMore(budgets.tokensPerDay, than: current.budgets.tokensPerDay)
                || isMore(budgets.tokensPerMonth, than: current.budgets.tokensPerMonth)
                || isMore(budgets.costPerDay, than: current.budgets.costPerDay)
                || isMore(budgets.costPerMonth, than: current.budgets.costPerMonth)
        case .tooManyPersonas: isMore(publishedPersonas, than: current.publishedPersonas)
        case .subscriptionRequired: rejection.domain.map(allows) ?? true
        default: false
        }
    }

    private func isMore<Amount: Comparable>(_ limit: Amount?, than other: Amount?) -> Bool {
        guard let other else { return false }
        return limit.map { $0 > other } ?? true
    }
}
