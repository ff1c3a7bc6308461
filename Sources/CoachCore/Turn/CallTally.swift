/// Which provider's answer a model call has, and which of its requests came to nothing. Pure; part of what reads the updates of a call.
public struct CallTally: Sendable, Equatable {
    /// The model that accepted the call last; nil before. It stays while the answer is void.
    public private(set) var acceptedBy: ModelName?
    /// As reported by that model's provider.
    public private(set) var usage = TokenUsage()
    /// UTF-8 bytes of reasoning that it has sent.
    public private(set) var reasoningBytes = 0
    /// Requests whose answers are not used, in the order in which that was known.
    public private(set) var unusedCalls: [UnusedCall] = []
    /// The call that `acceptedBy` accepted is among the unused ones, where it may be as refused after all, and none was accepted after it.
    private var isVoid = false

    public init() {}

    /// The model whose answer is awaited or read; nil while there is none.
    public var answeredBy: ModelName? { isVoid ? nil : acceptedBy }

    public mutating func accepted(by name: ModelName) {
        acceptedBy = name
        usage = TokenUsage()
        reasoningBytes = 0
        isVoid = false
    }

    public mutating func called(_ calls: [UnusedCall]) {
        unusedCalls += calls
        if calls.contains(where: { $0.isAccepted || $0.name == acceptedBy }) { isVoid = true }
    }

    /// Replaces earlier reports.
    public mutating func reported(_ latest: TokenUsage) { usage = latest }

    /// Replaces earlier numbers.
    public mutating func reasoned(_ bytes: Int) { reasoningBytes = bytes }

    /// Takes all of an update but its text and its end.
    public mutating func take(_ update: ModelUpdate) {
        if let calls = update.unusedCalls { called(calls) }
        if let name = update.acceptedBy { accepted(by: name) }
        if let usage = update.usage { reported(usage) }
        if let bytes = update.reasoningBytes { reasoned(bytes) }
    }

    /// The calls when the model call has ended: the one that counts as the answer's, which nobody may have accepted, and the others.
    public var ended: (answeredBy: ModelName?, usage: TokenUsage, reasoningBytes: Int, unusedCalls: [UnusedCall]) {
        var others = unusedCalls
        if let answeredBy { return (answeredBy, usage, reasoningBytes, others) }
        // No later one was accepted, so the last accepted one is billed as the answer's; else its row stands for the last request.
        guard let last = others.takeLastAccepted() else { return (nil, usage, 0, Array(others.dropLast())) }
        return (last.name, last.usage, last.reasoningBytes, others)
    }
}

extension [UnusedCall] {
    /// Removes the last call that a provider accepted.
    public mutating func takeLastAccepted() -> UnusedCall? {
        lastIndex(where: \.isAccepted).map { remove(at: $0) }
    }
}
