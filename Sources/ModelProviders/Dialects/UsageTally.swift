import CoachCore
import JSON

/// Counts of tokens as a provider reports them during one answer.
///
/// Reports are cumulative, and some servers correct earlier ones: a later report replaces each count that it has. The other counts stay as they were. A count
/// that was never reported is unknown.
struct UsageTally: Equatable {
    /// Whether the provider's counts of input and output include smaller ones.
    struct Inclusion: Equatable {
        var inputHasCache: Bool
        var outputHasReasoning: Bool
    }

    var input: Int?
    var cachedInput: Int?
    var cacheWrite: Int?
    var output: Int?
    var reasoning: Int?

    /// Takes a later report. Some servers end with counts of 0, which are wrong for a prompt and for generated tokens: such a 0 replaces no known count.
    /// A 0 of one class of the prompt counts when another class is above 0.
    mutating func merge(_ later: UsageTally) {
        let countsInput = [later.input, later.cachedInput, later.cacheWrite].contains { $0 ?? 0 > 0 }
        input.replace(with: later.input, if: countsInput)
        cachedInput.replace(with: later.cachedInput, if: countsInput)
        cacheWrite.replace(with: later.cacheWrite, if: countsInput)
        output.replace(with: later.output, if: later.output ?? 0 > 0)
        reasoning.replace(with: later.reasoning, if: later.reasoning ?? 0 > 0)
    }

    /// The counts as classes that do not overlap. A smaller count that exceeds the one that includes it is reduced to it, because the larger one is billed.
    /// - Parameter isFinal: whether the provider has reported at the end of its answer.
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
    /// An unknown count changes nothing. A known count always replaces an unknown one, and a known one if `isCount`.
    fileprivate mutating func replace(with other: Int?, if isCount: Bool) {
        self = isCount ? other ?? self : self ?? other
    }

    /// Keeps the larger of both. An unknown count changes nothing.
    mutating func raise(to other: Int?) {
        guard let other, other > self ?? -1 else { return }
        self = other
    }
}
