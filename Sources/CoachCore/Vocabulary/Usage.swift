/// Tokens of one model call in disjoint classes (DESIGN, Money). Unknown is nil, never zero.
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

    /// Memberwise; everything unknown by default.
    public init(
        input: Int? = nil, cachedInput: Int? = nil, cacheWrite: Int? = nil, output: Int? = nil, reasoning: Int? = nil
    ) {
        self.input = input
        self.cachedInput = cachedInput
        self.cacheWrite = cacheWrite
        self.output = output
        self.reasoning = reasoning
    }

    /// The same with absurd counts brought down: a ledger's column, and its sum of classes, hold 2³¹ − 1.
    public var storable: TokenUsage {
        func bounded(_ count: Int?) -> Int? { count.map { min(max($0, 0), Int(Int32.max) / 4) } }
        return TokenUsage(
            input: bounded(input), cachedInput: bounded(cachedInput), cacheWrite: bounded(cacheWrite), output: bounded(output),
            reasoning: bounded(reasoning))
    }

    /// Everything sent to the model: the wire's `input_tokens`, which includes cached ones.
    public var totalInput: Int? { input.map { $0 + (cachedInput ?? 0) + (cacheWrite ?? 0) } }
    /// Everything the model produced: the wire's `output_tokens`.
    public var totalOutput: Int? { output.map { $0 + (reasoning ?? 0) } }
}

/// What one turn consumed at which model, and what it cost.
public struct TurnBill: Hashable, Sendable {
    /// The provider's name in `deploy/models.json`.
    public var provider: String
    /// The model that answered, as priced.
    public var model: String
    /// Tokens.
    public var usage: TokenUsage
    /// nil when the model has no price.
    public var cost: Nanodollars?
    /// True when the provider reported no usage and the tokens were estimated from the text.
    public var estimated: Bool

    /// Memberwise.
    public init(provider: String, model: String, usage: TokenUsage, cost: Nanodollars?, estimated: Bool) {
        self.provider = provider
        self.model = model
        self.usage = usage
        self.cost = cost
        self.estimated = estimated
    }
}
