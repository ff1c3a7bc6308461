/// What one model of one provider costs from a day on, until a later price of the same model.
public struct Price: Hashable, Sendable {
    /// Which models a price is for.
    public enum Match: String, Sendable {
        /// The model of exactly this name.
        case exact
        /// Every model whose name begins so, unless a longer or exact entry fits.
        case prefix
    }

    public var provider: String
    public var model: String
    public var match: Match
    public var validFrom: CalendarDay
    public var input: PicodollarsPerToken
    public var output: PicodollarsPerToken
    /// nil: the model has no price for this class; a turn that used it is unpriced.
    public var cachedInput: PicodollarsPerToken?
    /// As `cachedInput`.
    public var cacheWrite: PicodollarsPerToken?
    /// As `cachedInput`.
    public var reasoning: PicodollarsPerToken?

    /// Memberwise.
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

    /// The cost of one call: summed exactly, rounded once, half up.
    ///
    /// Unknown is not zero: nil when `input` or `output` is unknown, or when tokens were counted in a class that has no price. The classes
    /// inside the prompt and the completion are different: a provider that reports totals but no `cachedInput`, `cacheWrite` or
    /// `reasoning` has none of them, and then they cost nothing. nil also for a count below zero or a sum beyond 64 bits.
    public func cost(of usage: TokenUsage) -> Nanodollars? {
        guard let inputTokens = usage.input, let outputTokens = usage.output else { return nil }
        let lines: [(Int, PicodollarsPerToken?)] = [
            (inputTokens, input), (usage.cachedInput ?? 0, cachedInput), (usage.cacheWrite ?? 0, cacheWrite), (outputTokens, output),
            (usage.reasoning ?? 0, reasoning),
        ]
        var picodollars: Int64 = 0
        for (tokens, price) in lines where tokens != 0 {
            guard tokens > 0, let price else { return nil }
            let (product, productOverflows) = Int64(tokens).multipliedReportingOverflow(by: price.raw)
            let (sum, sumOverflows) = picodollars.addingReportingOverflow(product)
            guard !productOverflows, !sumOverflows else { return nil }
            picodollars = sum
        }
        return Nanodollars(picodollars / 1000 + (picodollars % 1000 >= 500 ? 1 : 0))
    }
}
