import CoachCore
import PostgresClient

extension BudgetSlices {
    /// Shared budgets in PostgreSQL: one row for each budget and day.
    public static func postgres(client: PostgresClient) -> BudgetSlices {
        BudgetSlices(
            take: { budget, day, limit, want in
                try await StoreFault.translating {
                    try await repeatingContended {
                        let taken: Int64 = try await client.value(
                            of: """
                                select gateway.take_slice(
                                    \(budget.scope.rawValue), \(budget.id), \(day.description)::date, \(limit.raw), \(want.raw))
                                """)
                        return Nanodollars(taken)
                    }
                }
            },
            giveBack: { budget, day, amount in
                try await StoreFault.translating {
                    do {
                        try await repeatingContended {
                            let _: Bool = try await client.value(
                                of: """
                                    select gateway.return_slice(
                                        \(budget.scope.rawValue), \(budget.id), \(day.description)::date, \(amount.raw))
                                    """)
                        }
                    } catch let error as PostgresError where error.mayHaveTakenEffect {
                        // Kept here as well, a slice that was returned could be spent twice. One that was not is missing until the day ends.
                    }
                }
            })
    }
}
