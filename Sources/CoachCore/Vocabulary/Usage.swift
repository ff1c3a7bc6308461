/// Token counts of one model call in disjoint classes. nil is unknown, which is not zero.
public struct TokenUsage: Hashable, Sendable {
    /// Prompt tokens that were neither read from nor written to a cache.
    public var input: Int?
    /// Prompt tokens read from the provider's cache.
    public var cachedInput: Int?
    /// Prompt tokens written to the provider's cache.
    public var cacheWrite: Int?
    /// Visible answer tokens.
    public var output: Int?
    /// Hidden reasoning tokens, billed as output by most providers.
    public var reasoning: Int?
    /// The provider reported it in the middle of the answer, and may bill more than that.
    public var isPartial: Bool

    public init(
        input: Int? = nil, cachedInput: Int? = nil, cacheWrite: Int? = nil, output: Int? = nil, reasoning: Int? = nil,
        isPartial: Bool = false
    ) {
        self.input = input
        self.cachedInput = cachedInput
        self.cacheWrite = cacheWrite
        self.output = output
        self.reasoning = reasoning
        self.isPartial = isPartial
    }

    /// The same with absurd counts brought down, so that the sums of a ledger, which hold 2⁶³ − 1, do not overflow.
    public var storable: TokenUsage {
        func bounded(_ count: Int?) -> Int? { count.map { min(max($0, 0), 1 << 50) } }
        return TokenUsage(
            input: bounded(input), cachedInput: bounded(cachedInput), cacheWrite: bounded(cacheWrite), output: bounded(output),
            reasoning: bounded(reasoning))
    }

    /// An estimate with what a provider has counted before the end: its prompt, and text and reasoning each where it has counted more. Text was sent
    /// after its last count, too.
    public func raised(to report: TokenUsage) -> TokenUsage {
        let report = report.storable
        var usage = self
        // LiteLLM's Messages begin with an input of 0.
        if let counted = report.totalInput, counted > 0 {
            (usage.input, usage.cachedInput, usage.cacheWrite) = (report.input, report.cachedInput, report.cacheWrite)
        }
        // Some servers report no reasoning, or always 0, and count it as output.
        let countsReasoning = report.reasoning.map { $0 > 0 || reasoning ?? 0 == 0 } ?? false
        if countsReasoning {
            usage.output = [output, report.output].compactMap(\.self).max()
            usage.reasoning = [reasoning, report.reasoning].compactMap(\.self).max()
        } else if let counted = report.output, counted > totalOutput ?? 0 {
            (usage.output, usage.reasoning) = (counted, 0)
        }
        return usage
    }

    /// Tokens of the prompt, with cached ones: `input_tokens` on the wire. nil when `input` is unknown.
    public var totalInput: Int? { input.map { $0 + (cachedInput ?? 0) + (cacheWrite ?? 0) } }
    /// Tokens of the answer, with reasoning: `output_tokens` on the wire. nil when `output` is unknown.
    public var totalOutput: Int? { output.map { $0 + (reasoning ?? 0) } }
}

/// The model, token usage and cost of one attempt of a turn.
public struct TurnBill: Hashable, Sendable {
    /// The model that answered, as in the price list.
    public var name: ModelName
    public var usage: TokenUsage
    /// nil when the usage has no price; see `Price.cost(of:)`.
    public var cost: Nanodollars?
    /// True when the provider reported no usage at the end of the answer, and `TokenEstimate` made it from the text.
    public var estimated: Bool

    public init(name: ModelName, usage: TokenUsage, cost: Nanodollars?, estimated: Bool) {
        self.name = name
        self.usage = usage
        self.cost = cost
        self.estimated = estimated
    }
}
