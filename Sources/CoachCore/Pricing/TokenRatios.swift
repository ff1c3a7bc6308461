import Synchronization

/// How many tokens each model counts for one of `TokenEstimate`, learnt from calls whose usage was reported. In memory, of a bounded number of
/// models; 1 before the first call. Beside it, how many a model may count for an answer.
public final class TokenRatios: Sendable {
    /// Further models keep the ratio 1.
    static let mostModels = 256
    /// The share of the newest call in a ratio.
    static let weight = 0.1
    /// Smaller counts do not show a ratio.
    static let fewestTokens = 32
    /// A provider that reports nonsense must not make estimates absurd.
    static let range = 0.5...2.0

    private struct Ratio {
        var input = 1.0
        var output = 1.0
    }

    private let ratios = Mutex<[ModelName: Ratio]>([:])

    private let longestAnswers: [ModelName: Int]

    /// - Parameter longestAnswers: the tokens that a request may ask a model for; `TokenEstimate.longestAnswer` of others.
    public init(longestAnswers: [ModelName: Int] = [:]) { self.longestAnswers = longestAnswers }

    /// The longest answer of a model, in tokens: bounds what is believed of a report.
    public func longestAnswer(of name: ModelName) -> Int { longestAnswers[name] ?? TokenEstimate.longestAnswer }

    /// Learns from a call: its estimate, and what the provider reported. Reasoning is left out, because some providers do not send it; one
    /// that does not count it apart counts it as output.
    public func learn(from reported: TokenUsage, of name: ModelName, estimate: TokenUsage) {
        ratios.withLock { ratios in
            guard ratios[name] != nil || ratios.count < Self.mostModels else { return }
            var ratio = ratios[name, default: Ratio()]
            Self.move(&ratio.input, to: reported.totalInput, of: estimate.totalInput)
            Self.move(&ratio.output, to: reported.output, of: reported.reasoning == nil ? estimate.totalOutput : estimate.output)
            ratios[name] = ratio
        }
    }

    /// The estimate with the model's ratios; at least one token where there was one.
    public func adjusted(_ estimate: TokenUsage, of name: ModelName) -> TokenUsage {
        guard let ratio = ratios.withLock({ $0[name] }) else { return estimate }
        var usage = estimate
        usage.input = estimate.input.map { Self.scaled($0, by: ratio.input) }
        usage.output = estimate.output.map { Self.scaled($0, by: ratio.output) }
        usage.reasoning = estimate.reasoning.map { Self.scaled($0, by: ratio.output) }
        return usage
    }

    private static func move(_ ratio: inout Double, to reported: Int?, of estimate: Int?) {
        guard let reported, let estimate, reported > 0, estimate >= fewestTokens else { return }
        let newest = min(max(Double(reported) / Double(estimate), range.lowerBound), range.upperBound)
        ratio += (newest - ratio) * weight
    }

    private static func scaled(_ tokens: Int, by ratio: Double) -> Int {
        tokens > 0 ? max(1, Int((Double(tokens) * ratio).rounded(.up))) : tokens
    }
}
