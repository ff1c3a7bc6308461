/// The price of a provider's model, or of all models with a name prefix, from a day until the next price of the same entry.
public struct Price: Hashable, Sendable {
    /// How `Price.model` matches a model name.
    public enum Match: String, Sendable, CaseIterable {
        /// The whole name.
        case exact
        /// A prefix of the name. An exact or longer entry wins.
        case prefix
    }

    /// Provider name in `deploy/models.json`.
    public var provider: String
    /// Model name, or prefix of model names.
    public var model: String
    public var match: Match
    /// First day (UTC) of validity.
    public var validFrom: CalendarDay
    public var input: PicodollarsPerToken
    public var output: PicodollarsPerToken
    /// nil: no price for this class of tokens; a call with such tokens has no cost.
    public var cachedInput: PicodollarsPerToken?
    /// nil: as `cachedInput`.
    public var cacheWrite: PicodollarsPerToken?
    /// nil: as `cachedInput`.
    public var reasoning: PicodollarsPerToken?

    public init(
        provider: String, model: String, match: Match = .exact, validFrom: CalendarDay, input: PicodollarsPerToken,
        output: PicodollarsPerToken, cachedInput: PicodollarsPerToken? = nil, cacheWrite: PicodollarsPerToken? = nil,
        reasoning: PicodollarsPerToken? = nil
    ) {
        self.provider = provider
        self.model = model
        self.match = match
        self.validFrom = validFrom
        self.input = input
        self.output = output
        self.cachedInput = cachedInput
        self.cacheWrite = cacheWrite
        self.reasoning = reasoning
    }

    /// The cost of one call, summed in picodollars and rounded once, half up.
    ///
    /// nil when `input` or `output` is unknown, when a class with tokens has no price, when a count is negative, or when the sum overflows
    /// 64 bits. An unknown `cachedInput`, `cacheWrite` or `reasoning` counts as 0: providers omit classes that they do not have.
    public func cost(of usage: TokenUsage) -> Nanodollars? {
        guard let inputTokens = usage.input, let outputTokens = usage.output else { return nil }
        let classes: [(Int, PicodollarsPerToken?)] = [
            (inputTokens, input), (usage.cachedInput ?? 0, cachedInput), (usage.cacheWrite ?? 0, cacheWrite), (outputTokens, output),
            (usage.reasoning ?? 0, reasoning),
        ]
        var picodollars: Int64 = 0
        for (tokens, price) in classes where tokens != 0 {
            guard tokens > 0, let price else { return nil }
            let (product, productOverflows) = Int64(tokens).multipliedReportingOverflow(by: price.raw)
            let (sum, sumOverflows) = picodollars.addingReportingOverflow(product)
            guard !productOverflows, !sumOverflows else { return nil }
            picodollars = sum
        }
        return Nanodollars(picodollars / 1000 + (picodollars % 1000 >= 500 ? 1 : 0))
    }
}
