import CoachCore

extension TierModels {
    /// The longest message of ASCII characters, in tokens.
    private static let longestMessage = TokenEstimate.tokens(
        in: repeatElement(UInt8(ascii: "a"), count: TurnRequest.maximumMessageScalars))

    /// The models with which a turn may cost more than budgets of money reserve for it, with that cost. Each of the turns that run at the same time may
    /// exceed a budget by the difference. The cost is that of the longest history and answer, without persona and profile.
    public static func underreserved(
        _ tiers: TierBook, at prices: PriceBook, in configuration: ModelConfiguration, on day: CalendarDay
    ) -> [(name: ModelName, cost: Nanodollars)] {
        guard let reserve = tiers.reservePerTurn else { return [] }
        let input = longestMessage + (tiers.tiers.map(\.history.tokens).max() ?? 0)
        let choices = configuration.routes.sorted { $0.key < $1.key }.flatMap(\.value.choices)
        var seen: Set<ModelName> = []
        return choices.compactMap { choice in
            let usage = TokenUsage(input: input, cachedInput: 0, cacheWrite: 0, output: choice.maximumOutputTokens, reasoning: 0)
            guard let cost = prices.cost(of: usage, at: choice.name, on: day), cost > reserve, seen.insert(choice.name).inserted else {
                return nil
            }
            return (choice.name, cost)
        }
    }
}
