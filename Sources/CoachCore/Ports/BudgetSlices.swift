/// Port to the budgets that all instances share. An instance takes a slice of a budget in advance and spends it alone, so that no row of the
/// database is written at every turn. `CoachStore` implements it on PostgreSQL.
public struct BudgetSlices: Sendable {
    /// Takes up to `want` of a day's budget; less, or nothing, when less is left of `limit`. Exact over all instances. Throws `StoreFault`.
    public var take:
        @Sendable (_ budget: SharedBudget, _ day: CalendarDay, _ limit: Nanodollars, _ want: Nanodollars) async throws -> Nanodollars
    /// Gives back what was not spent. Throws `StoreFault`.
    public var giveBack: @Sendable (_ budget: SharedBudget, _ day: CalendarDay, _ amount: Nanodollars) async throws -> Void

    public init(
        take: @escaping @Sendable (SharedBudget, CalendarDay, Nanodollars, Nanodollars) async throws -> Nanodollars,
        giveBack: @escaping @Sendable (SharedBudget, CalendarDay, Nanodollars) async throws -> Void
    ) {
        self.take = take
        self.giveBack = giveBack
    }
}
