/// The price of a provider's model, or of all models with a name prefix, from a day until its last one or the next price of the same entry.
public struct Price: Hashable, Sendable {
    /// How `Price.model` matches a model name.
    public enum Match: String, Sendable, CaseIterable {
        /// The whole name.
        case exact
        /// A prefix of the name. An exact or longer entry wins.
        case prefix
    }

    /// Prices of the classes of tokens.
    public struct Rates: Hashable, Sendable {
        public var input: PicodollarsPerToken
        public var output: PicodollarsPerToken
        /// nil: no price for this class of tokens; a call with such tokens has no cost.
        public var cachedInput: PicodollarsPerToken?
        /// nil: as `cachedInput`.
        public var cacheWrite: PicodollarsPerToken?
        /// nil: as `cachedInput`.
        public var reasoning: PicodollarsPerToken?

        public init(
            input: PicodollarsPerToken, output: PicodollarsPerToken, cachedInput: PicodollarsPerToken? = nil,
            cacheWrite: PicodollarsPerToken? = nil, reasoning: PicodollarsPerToken? = nil
        ) {
            self.input = input
            self.output = output
            self.cachedInput = cachedInput
            self.cacheWrite = cacheWrite
            self.reasoning = reasoning
        }
    }

    /// The rates of all tokens of a call with a long prompt.
    public struct ContextTier: Hashable, Sendable {
        /// Holds for prompts with more tokens than this, cached ones included.
        public var above: Int
        public var rates: Rates

        public init(above: Int, rates: Rates) {
            self.above = above
            self.rates = rates
        }
    }

    /// Provider name in `deploy/models.json`.
    public var provider: String
    /// Model name, or prefix of model names.
    public var model: String
    public var match: Match
    /// First day (UTC) of validity.
    public var validFrom: CalendarDay
    /// Last day (UTC) of validity; nil: until the next price of the same entry. After it an older price holds that is still valid, if there is one.
    public var validTo: CalendarDay?
    public var rates: Rates
    /// By `above`, ascending.
    public var contextTiers: [ContextTier]

    public init(
        provider: String, model: String, match: Match = .exact, validFrom: CalendarDay, validTo: CalendarDay? = nil, rates: Rates,
        contextTiers: [ContextTier] = []
    ) {
        self.provider = provider
        self.model = model
        self.match = match
        self.validFrom = validFrom
        self.validTo = validTo
        self.rates = rates
        self.contextTiers = contextTiers
    }

    /// Whether the day is one of its validity. A newer price can be in force, too, and precedes it.
    func isInForce(on day: CalendarDay) -> Bool { validFrom <= day && validTo.map { day <= $0 } ?? true }

    /// The cost of one call, summed in picodollars and rounded once, half up.
    ///
    /// nil when `input` or `output` is unknown, when a class with tokens has no price, when a count is negative, or when the sum overflows
    /// 64 bits. An unknown `cachedInput`, `cacheWrite` or `reasoning` counts as 0: providers omit classes that they do not have.
    public func cost(of usage: TokenUsage) -> Nanodollars? {
        guard let inputTokens = usage.input, let outputTokens = usage.output else { return nil }
        let cached = (usage.cachedInput ?? 0, usage.cacheWrite ?? 0)
        guard let prompt = Self.sum([inputTokens, cached.0, cached.1]) else { return nil }
        let rates = contextTiers.last { prompt > $0.above }?.rates ?? rates
        let classes: [(Int, PicodollarsPerToken?)] = [
            (inputTokens, rates.input), (cached.0, rates.cachedInput), (cached.1, rates.cacheWrite), (outputTokens, rates.output),
            (usage.reasoning ?? 0, rates.reasoning),
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

    /// An estimated usage as it is billed: where reasoning has no price of its own, the provider counts it as output.
    func billed(estimate usage: TokenUsage) -> TokenUsage {
        guard ([rates] + contextTiers.map(\.rates)).contains(where: { $0.reasoning == nil }) else { return usage }
        var usage = usage
        (usage.output, usage.reasoning) = (usage.totalOutput, 0)
        return usage
    }

    private static func sum(_ counts: [Int]) -> Int? {
        counts.reduce(0) { sum, count in
            sum.flatMap { sum in
                let (total, overflows) = sum.addingReportingOverflow(count)
                return overflows ? nil : total
            }
        }
    }
}
