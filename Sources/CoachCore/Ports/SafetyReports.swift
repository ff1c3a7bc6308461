/// Port to counts of crisis events over all users, for operators. `CoachStore` implements it on PostgreSQL.
public struct SafetyReports: Sendable {
    /// Counts by day, both days included (UTC). Throws `StoreFault`, and `NotAllowed` when the caller is not an operator.
    public var daily: @Sendable (Caller, _ first: CalendarDay, _ last: CalendarDay) async throws -> [SafetyCount]
    /// Exact counts of a calendar year (UTC), without days. Throws as `daily`.
    public var yearly: @Sendable (Caller, _ year: Int) async throws -> [SafetyCount]

    public init(
        daily: @escaping @Sendable (Caller, _ first: CalendarDay, _ last: CalendarDay) async throws -> [SafetyCount],
        yearly: @escaping @Sendable (Caller, _ year: Int) async throws -> [SafetyCount]
    ) {
        self.daily = daily
        self.yearly = yearly
    }
}

/// Crisis events of one tier, category and jurisdiction.
public struct SafetyCount: Sendable, Equatable {
    public var day: CalendarDay?
    public var tier: RiskTier
    /// nil for reminders, and for replaced sentences of turns without danger.
    public var category: RiskCategory?
    /// ISO 3166-1; nil: unknown.
    public var jurisdiction: String?
    /// Turns in which crisis services were shown; nil: fewer than five.
    public var referrals: Int?
    /// Turns of which sentences were replaced; nil: fewer than five.
    public var replaced: Int?

    public init(
        day: CalendarDay?, tier: RiskTier, category: RiskCategory?, jurisdiction: String?, referrals: Int?, replaced: Int?
    ) {
        self.day = day
        self.tier = tier
        self.category = category
        self.jurisdiction = jurisdiction
        self.referrals = referrals
        self.replaced = replaced
    }
}
