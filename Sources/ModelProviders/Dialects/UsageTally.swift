import CoachCore
import JSON

/// Counts of tokens as a provider reports them during one answer.
///
/// Reports are cumulative: a later one raises a count and never lowers it, so neither a repeated report nor a last one without a count
/// changes what was known. What was never reported is unknown.
struct UsageTally: Equatable {
    /// Whether a provider's larger count has the smaller one in it.
    struct Inclusion: Equatable {
        var inputHasCache: Bool
        var outputHasReasoning: Bool
    }

    var input: Int?
    var cachedInput: Int?
    var cacheWrite: Int?
    var output: Int?
    var reasoning: Int?

    mutating func merge(_ other: UsageTally) {
        input.raise(to: other.input)
        cachedInput.raise(to: other.cachedInput)
        cacheWrite.raise(to: other.cacheWrite)
        output.raise(to: other.output)
        reasoning.raise(to: other.reasoning)
    }

    /// In disjoint classes. An inner count that exceeds its total is cut to it: the total is what is billed.
    /// - Parameter isFinal: the provider has reported at the end of its answer.
    func classes(_ inclusion: Inclusion, isFinal: Bool) -> TokenUsage {
        var usage = TokenUsage(
            input: input, cachedInput: cachedInput, cacheWrite: cacheWrite, output: output, reasoning: reasoning, isPartial: !isFinal)
        if inclusion.inputHasCache, let input {
            usage.cachedInput = cachedInput.map { min($0, input) }
            usage.cacheWrite = cacheWrite.map { min($0, input - (usage.cachedInput ?? 0)) }
            usage.input = input - (usage.cachedInput ?? 0) - (usage.cacheWrite ?? 0)
        }
        if inclusion.outputHasReasoning, let output {
            usage.reasoning = reasoning.map { min($0, output) }
            usage.output = output - (usage.reasoning ?? 0)
        }
        return usage
    }
}

extension Int? {
    /// The larger of both; what is unknown changes nothing.
    mutating func raise(to other: Int?) {
        guard let other, other > self ?? -1 else { return }
        self = other
    }
}
