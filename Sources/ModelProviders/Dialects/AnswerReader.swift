import CoachCore

/// Reads text, usage and the end from the bytes of one answer, which may be split anywhere. Pure.
package protocol AnswerReader {
    /// Reads the next bytes and adds their content to `update`. Reads nothing after a verdict.
    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate)
    /// The stream has ended. Gives a verdict if there was none before.
    mutating func finish(into update: inout ParsedUpdate)
}

/// The content of some bytes of a response, in this order: the text, the usage, the verdict.
package struct ParsedUpdate: Equatable {
    /// How an answer's stream has ended.
    package enum Verdict: Equatable {
        /// In the way of the provider's dialect.
        case ended(ModelEnd)
        /// It broke. `detail` may be logged. `about`: what an error frame means for the next step.
        case broken(ModelFault.Kind, detail: String, about: ProviderError.Kind = .other)

        static let malformed = Verdict.broken(.errorFrame, detail: "malformed frame")
        static let notAnEventStream = Verdict.broken(.errorFrame, detail: "not an event stream")
        static let tooLong = Verdict.broken(.errorFrame, detail: "frame too long")
        /// The answer has an error frame.
        static func failed(_ error: ProviderError) -> Verdict { .broken(.errorFrame, detail: error.code ?? "error", about: error.kind) }
        static let cut = Verdict.broken(.cut, detail: "ended without its end mark")
    }

    /// Whole characters of valid UTF-8 without U+0000.
    package var text: [UInt8] = []
    /// The usage known so far, which replaces earlier ones. It is partial until the provider's report at the end of its answer.
    package var usage: TokenUsage?
    /// The UTF-8 bytes of reasoning, which is not part of the text.
    package var reasoningBytes = 0
    /// Whether the reason for the end of the answer is known; usage and an end mark may follow.
    package var hasFinishReason = false
    package var verdict: Verdict?

    /// Empty.
    package init() {}

    /// Empties it; the buffer is kept.
    package mutating func clear() {
        text.removeAll(keepingCapacity: true)
        if usage != nil { usage = nil }
        reasoningBytes = 0
        hasFinishReason = false
        if verdict != nil { verdict = nil }
    }
}
