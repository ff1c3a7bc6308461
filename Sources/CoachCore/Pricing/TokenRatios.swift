import Synchronization

/// How many tokens each model counts for one token of `TokenEstimate`, and how many it may count for an answer. The ratios are learnt from calls with reported
/// usage and kept in memory; a ratio is 1 before the first call.
public final class TokenRatios: Sendable {
    /// The number of models whose ratios are learnt. Further models keep the ratio 1.
    static let mostModels = 256
    /// The weight of the newest call in a ratio.
    static let weight = 0.1
    /// Calls with fewer tokens change no ratio, because rounding matters too much in them.
    static let fewestTokens = 32
    /// The bounds of a ratio, so that a wrong report cannot make estimates absurd.
    static let range = 0.5...2.0

    private struct Ratio {
        var input = 1.0
        var output = 1.0
    }

    private let ratios = Mutex<[ModelName: Ratio]>([:])

    private let longestAnswers: [ModelName: Int]

    /// - Parameter longestAnswers: the limits on the output tokens of requests, by model; others have `TokenEstimate.longestAnswer`.
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
