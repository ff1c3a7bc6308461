import CoachCore
import JSON

/// Counts of tokens as a provider reports them during one answer.
///
/// Reports are cumulative: a later one replaces each count that it has, as some servers correct their first one. What it has not stays as it was,
/// and what was never reported is unknown.
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

    /// A 0 replaces nothing where nothing can have become 0: in the prompt as a whole, and in what was generated. Some servers end with such counts.
    mutating func merge(_ later: UsageTally) {
        let countsInput = [later.input, later.cachedInput, later.cacheWrite].contains { $0 ?? 0 > 0 }
        input.replace(with: later.input, if: countsInput)
        cachedInput.replace(with: later.cachedInput, if: countsInput)
        cacheWrite.replace(with: later.cacheWrite, if: countsInput)
        output.replace(with: later.output, if: later.output ?? 0 > 0)
        reasoning.replace(with: later.reasoning, if: later.reasoning ?? 0 > 0)
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
    /// An unknown count changes nothing; a known one replaces an unknown one in any case.
    fileprivate mutating func replace(with other: Int?, if isCount: Bool) {
        self = isCount ? other ?? self : self ?? other
    }

    /// The larger of both; what is unknown changes nothing.
    mutating func raise(to other: Int?) {
        guard let other, other > self ?? -1 else { return }
        self = other
    }
}
