import CoachCore
import EventStream
import GatewayAPI
import HTTPEdge
import JSON
import TokenRelay

/// A turn as the chunks of a streamed chat completion.
struct ChatCompletionStreamFormat: StreamFormat {
    private let completion: ChatCompletion
    private let includesUsage: Bool
    /// The parts of a chunk before and after its text, which are the same in each chunk.
    private let beforeText: [UInt8]
    private let afterText: [UInt8]

    init(_ completion: ChatCompletion, includesUsage: Bool) {
        self.completion = completion
        self.includesUsage = includesUsage
        var chunk: [UInt8] = []
        Self.append(completion, finishReason: nil, usage: includesUsage ? .null : .absent, into: &chunk) { $0.member("content", "") }
        let content = Array(#""content":""#.utf8)
        // Nothing before it can look like this: quotes inside of strings are escaped.
        let split = chunk.firstRange(of: content)?.upperBound ?? chunk.endIndex
        beforeText = Array(chunk[..<split])
        afterText = Array(chunk[split...])
    }

    func appendOpeningEvents(into output: inout [UInt8]) {
        append(into: &output) { writer in
            writer.member("role", "assistant")
            writer.member("content", "")
        }
        if !completion.card.isEmpty { append(into: &output) { $0.member("content", completion.card) } }
    }

    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) {
        output.append(contentsOf: beforeText)
        JSONWriter.appendEscaped(piece, to: &output)
        output.append(contentsOf: afterText)
    }

    /// A stream without a finish reason has failed, for these clients; an error is the last line.
    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8]) {
        guard ending.finishReason != nil else {
            let failure = TerminalEvents(facts: completion.turn.facts, ending: ending, keptBytes: keptBytes, cursor: cursor).failure
            var error = GatewayError(failure.code, failure.message)
            error.safety = completion.failureSafety
            return Self.append(OpenAIError(error), into: &output)
        }
        Self.append(
            completion, finishReason: completion.finishReason(ending), usage: includesUsage ? .null : .absent, into: &output
        ) { _ in }
        if includesUsage { Self.append(completion, usageOf: ending, into: &output) }
        output.append(contentsOf: "data: [DONE]\n\n".utf8)
    }

    func appendHeartbeat(into output: inout [UInt8]) { EventStreamEncoder.appendPing(into: &output) }

    /// The protocol cannot resume a stream.
    func appendRetry(into output: inout [UInt8]) {
        Self.append(OpenAIError(.overloaded, "this instance ends: the answer is saved, but not sent any further"), into: &output)
    }

    // MARK: Chunks

    /// The `usage` member of a chunk other than the last: null when the client asked for the usage.
    private enum Usage {
        case absent, null
    }

    private func append(into output: inout [UInt8], delta: (inout JSONWriter) -> Void) {
        Self.append(completion, finishReason: nil, usage: includesUsage ? .null : .absent, into: &output, delta: delta)
    }

    private static func append(
        _ completion: ChatCompletion, finishReason: String?, usage: Usage, into output: inout [UInt8], delta: (inout JSONWriter) -> Void
    ) {
        appendLine(into: &output) { writer in
            writer.object { writer in
                completion.writeHead(to: &writer, object: "chat.completion.chunk")
                writer.key(literal: "choices")
                writer.array { writer in
                    writer.object { writer in
                        writer.member("index", 0)
                        writer.key(literal: "delta")
                        writer.object { delta(&$0) }
                        writer.member("logprobs", nil as String?)
                        writer.member("finish_reason", finishReason)
                    }
                }
                if usage == .null { writer.member("usage", nil as String?) }
            }
        }
    }

    private static func append(_ completion: ChatCompletion, usageOf ending: TurnEnding, into output: inout [UInt8]) {
        appendLine(into: &output) { writer in
            writer.object { writer in
                completion.writeHead(to: &writer, object: "chat.completion.chunk")
                writer.key(literal: "choices")
                writer.array { _ in }
                writer.key(literal: "usage")
                ChatCompletion.writeUsage(of: ending, to: &writer)
            }
        }
    }

    private static func append(_ error: OpenAIError, into output: inout [UInt8]) {
        output.append(contentsOf: "data: ".utf8)
        output.append(contentsOf: error.encoded)
        EventStreamEncoder.endEvent(into: &output)
    }

    private static func appendLine(into output: inout [UInt8], _ body: (inout JSONWriter) -> Void) {
        output.append(contentsOf: "data: ".utf8)
        JSONWriter.append(to: &output, body)
        EventStreamEncoder.endEvent(into: &output)
    }
}
