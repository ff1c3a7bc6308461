/// Which model answers a model call, and which of the call's requests are not used. Made from the call's updates. Pure.
public struct CallTally: Sendable, Equatable {
    /// The model that accepted a request last, even if that request is not used any more; nil when none has accepted one.
    public private(set) var acceptedBy: ModelName?
    /// As reported by that model's provider.
    public private(set) var usage = TokenUsage()
    /// UTF-8 bytes of reasoning that it has sent.
    public private(set) var reasoningBytes = 0
    /// Requests whose answers are not used, in the order in which they were reported.
    public private(set) var unusedCalls: [UnusedCall] = []
    /// Whether the request that `acceptedBy` accepted is among the unused ones, and none was accepted after it. It may be there as refused, because its answer
    /// was an error.
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

    /// The requests of a model call that has ended: the one that counts as the answer's, and the others. `answeredBy` is nil when no model accepted one.
    /// `unusedTextBytes` of its text were reported as unused; the receiver may have released some of them after all.
    public var ended: (answeredBy: ModelName?, usage: TokenUsage, unusedTextBytes: Int, reasoningBytes: Int, unusedCalls: [UnusedCall]) {
        var others = unusedCalls
        if let answeredBy { return (answeredBy, usage, 0, reasoningBytes, others) }
        // Without an answer, the last accepted request is billed as the answer's. Without an accepted one, the answer's row stands for the last request.
        guard let last = others.takeLastAccepted() else { return (nil, usage, 0, 0, Array(others.dropLast())) }
        return (last.name, last.usage, last.textBytes, last.reasoningBytes, others)
    }
}

extension [UnusedCall] {
    /// Removes the last call that a provider accepted.
    public mutating func takeLastAccepted() -> UnusedCall? {
        lastIndex(where: \.isAccepted).map { remove(at: $0) }
    }
}
