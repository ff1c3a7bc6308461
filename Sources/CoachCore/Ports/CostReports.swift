import Foundation

/// Port to tokens and cost of all users, for operators. `CoachStore` implements it on PostgreSQL.
public struct CostReports: Sendable {
    /// One row for each group. Throws `StoreFault`, and `NotAllowed` when the caller is not an operator.
    public var costs: @Sendable (Caller, CostQuery) async throws -> [CostRow]

    public init(costs: @escaping @Sendable (Caller, CostQuery) async throws -> [CostRow]) { self.costs = costs }
}

/// Which calls are added up, and how. Only calls with a receipt count.
public struct CostQuery: Sendable, Equatable {
    /// Raw values are those of `operator.costs`.
    public enum Group: String, Sendable, CaseIterable {
        case day, model, provider, domain, persona, user, tier
    }

    /// The length of a bucket when grouped by day. Raw values are those of `operator.costs`.
    public enum Grain: String, Sendable, CaseIterable {
        case hour, day, week
    }

    /// UTC, both included.
    public var first: CalendarDay
    public var last: CalendarDay
    public var groups: [Group]
    public var grain: Grain

    public init(first: CalendarDay, last: CalendarDay, groups: [Group], grain: Grain) {
        self.first = first
        self.last = last
        self.groups = groups
        self.grain = grain
    }
}

/// The sums of a group. Keys that are not grouped by are nil.
public struct CostRow: Sendable, Equatable {
    /// The beginning of the hour, day or week.
    public var bucket: Date?
    public var model: String?
    public var provider: String?
    public var domain: Domain?
    public var personaID: PersonaID?
    /// nil for removed users, too.
    public var userID: UserID?
    public var tier: String?
    public var turns: Int
    /// nil when no call of the group has a count, as the next two.
    public var inputTokens: Int?
    public var cachedInputTokens: Int?
    public var outputTokens: Int?
    /// Of the calls with a known price; nil when there is none.
    public var cost: Nanodollars?
    /// Turns that are missing in `cost`.
    public var unpricedTurns: Int

    public init(
        bucket: Date?, model: String?, provider: String?, domain: Domain?, personaID: PersonaID?, userID: UserID?, tier: String?,
        turns: Int,
        inputTokens: Int?, cachedInputTokens: Int?, outputTokens: Int?, cost: Nanodollars?, unpricedTurns: Int
    ) {
        self.bucket = bucket
        self.model = model
        self.provider = provider
        self.domain = domain
        self.personaID = personaID
        self.userID = userID
        self.tier = tier
        self.turns = turns
        self.inputTokens = inputTokens
        self.cachedInputTokens = cachedInputTokens
        self.outputTokens = outputTokens
        self.cost = cost
        self.unpricedTurns = unpricedTurns
    }
}
