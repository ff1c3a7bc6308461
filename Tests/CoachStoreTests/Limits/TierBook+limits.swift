import CoachCore

extension TierBook {
    /// One tier with these limits.
    static func free(
        messagesPerDay: Int? = nil, concurrentTurns: Int? = nil, budgets: Tier.Budgets = .init(), perMinute: Int = 600,
        reserve: Nanodollars? = nil, reservedTokens: Int? = nil
    ) -> TierBook {
        TierBook(
            [
                Tier(
                    "free", requestsPerMinute: perMinute, messagesPerDay: messagesPerDay, concurrentTurns: concurrentTurns, budgets: budgets
                )
            ], reservePerTurn: reserve, reservedTokensPerTurn: reservedTokens)
    }
}
