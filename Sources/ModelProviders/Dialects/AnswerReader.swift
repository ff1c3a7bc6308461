import CoachCore

/// A machine that makes text, usage and an end out of the bytes of one answer, however they are cut. Pure.
package protocol AnswerReader {
    /// Reads the next bytes; after a verdict, nothing. What it learns is added to `update`, whose buffer the caller uses again.
    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate)
    /// The stream ended; gives a verdict unless one was given.
    mutating func finish(into update: inout ParsedUpdate)
}

/// The content of some bytes of a response, in this order: the text, the usage, the verdict.
package struct ParsedUpdate: Equatable {
    /// What an answer's stream ended in.
    package enum Verdict: Equatable {
        /// As the provider's dialect ends it.
        case ended(ModelEnd)
        /// It broke; the detail is fit for the log. `about`: what an error frame means for the next step.
        case broken(ModelFault.Kind, detail: String, about: ProviderError.Kind = .other)

        static let malformed = Verdict.broken(.errorFrame, detail: "malformed frame")
        static let notAnEventStream = Verdict.broken(.errorFrame, detail: "not an event stream")
        static let tooLong = Verdict.broken(.errorFrame, detail: "frame too long")
        /// An error frame.
        static func failed(_ error: ProviderError) -> Verdict { .broken(.errorFrame, detail: error.code ?? "error", about: error.kind) }
        static let cut = Verdict.broken(.cut, detail: "ended without its end mark")
    }

    /// Whole characters of valid UTF-8 without U+0000.
    package var text: [UInt8] = []
    /// All that is known so far; replaces earlier ones. Partial until the provider has reported at the end of its answer.
    package var usage: TokenUsage?
    /// UTF-8 bytes of reasoning in them, which is no text.
    package var reasoningBytes = 0
    /// The reason for the end of the answer is known; usage and an end mark may follow.
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
