/// Port to the yearly counts of crisis events over all users, for operators. `CoachStore` implements it on PostgreSQL.
public struct SafetyReports: Sendable {
    /// Exact counts of a calendar year (UTC). Throws `StoreFault`, and `NotAllowed` when the caller is not an operator.
    public var yearly: @Sendable (Caller, _ year: Int) async throws -> [SafetyCount]

    public init(yearly: @escaping @Sendable (Caller, _ year: Int) async throws -> [SafetyCount]) { self.yearly = yearly }
}

/// Crisis events of one tier, category and jurisdiction.
public struct SafetyCount: Sendable, Equatable {
    public var tier: RiskTier
    /// nil for reminders, and for replaced sentences of turns without danger.
    public var category: RiskCategory?
    /// ISO 3166-1; nil: unknown.
    public var jurisdiction: String?
    /// Turns in which crisis services were shown.
    public var referrals: Int
    /// Turns of which sentences were replaced.
    public var replaced: Int

    public init(tier: RiskTier, category: RiskCategory?, jurisdiction: String?, referrals: Int, replaced: Int) {
        self.tier = tier
        self.category = category
        self.jurisdiction = jurisdiction
        self.referrals = referrals
        self.replaced = replaced
    }
}
