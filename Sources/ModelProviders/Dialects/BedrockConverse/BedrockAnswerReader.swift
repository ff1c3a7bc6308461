import BinaryFormats
import CoachCore
import JSON

/// Reads a `converse-stream` answer: messages of Amazon's event stream, each with an event as JSON.
///
/// Usage comes after `messageStop`, so the answer ends with the connection. A stream without `messageStop` was cut. Messages of the types `exception` and
/// `error` are errors.
struct BedrockAnswerReader: AnswerReader {
    /// In bytes. Real messages are much smaller.
    private static let longestMessage = 256 << 10

    private var parser = AmazonEventStreamParser(limit: longestMessage)
    private var progress: Progress

    fileprivate struct Progress {
        var inclusion: UsageTally.Inclusion
        var end: ParsedUpdate.Verdict?
        var isOver = false
        var surrogates = SplitSurrogates()
        var usage = UsageTally()
    }

    init(model: String) {
        // Claude and Nova count cached tokens apart. OpenAI's models on Bedrock count them within the input, as their published streams show.
        let isOpenAI = BedrockConverse.parts(of: model).contains("openai")
        progress = Progress(inclusion: UsageTally.Inclusion(inputHasCache: isOpenAI, outputHasReasoning: true))
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate) {
        guard !progress.isOver else { return }
        do throws(AmazonEventStreamError) {
            try parser.feed(bytes) { progress.take($0, into: &update) }
        } catch {
            progress.finish(error == .tooLong ? .tooLong : .broken(.errorFrame, detail: "\(error)"), into: &update)
        }
    }

    mutating func finish(into update: inout ParsedUpdate) {
        progress.finish(parser.isBetweenMessages ? progress.end ?? .cut : .cut, into: &update)
    }
}

extension BedrockAnswerReader.Progress {
    fileprivate mutating func finish(_ verdict: ParsedUpdate.Verdict, into update: inout ParsedUpdate) {
        guard !isOver else { return }
        isOver = true
        surrogates.finish(&update.text)
        update.verdict = verdict
    }

    fileprivate mutating func take(_ message: AmazonEvent, into update: inout ParsedUpdate) {
        guard !isOver else { return }
        switch message[":message-type"] {
        case "event":
            let textBefore = update.text.count
            do throws(JSONError) {
                try read(message, into: &update)
                surrogates.repair(&update.text, from: textBefore)
            } catch {
                update.text.removeSubrange(textBefore...)
                finish(.malformed, into: &update)
            }
        case "exception": fail(message[":exception-type"], into: &update)
        default: fail(message[":error-code"], into: &update)
        }
    }

    private mutating func fail(_ code: String?, into update: inout ParsedUpdate) {
        finish(.failed(BedrockConverse.error(code: ErrorCode.validated(code))), into: &update)
    }

    private mutating func read(_ message: AmazonEvent, into update: inout ParsedUpdate) throws(JSONError) {
        var json = JSONCursor(message.payload, strings: .keepingSurrogates)
        switch message[":event-type"] {
        case "contentBlockDelta":
            try json.beginObject()
            while let key = try json.nextKey() {
                guard key == "delta", try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "text" { try json.appendText(to: &update.text) }
                    guard key == "reasoningContent", try json.entersObject() else { continue }
                    while let key = try json.nextKey() {
                        if key == "text" { update.reasoningBytes += try json.countText(using: &update.text) }
                    }
                }
            }
        case "messageStop":
            try json.beginObject()
            while let key = try json.nextKey() {
                if key == "stopReason" { end = Self.verdict(try json.text() ?? "") }
            }
        case "metadata":
            try json.beginObject()
            while let key = try json.nextKey() {
                guard key == "usage", try json.entersObject() else { continue }
                try readUsage(&json)
                update.usage = usage.classes(inclusion, isFinal: true)
            }
        default: return
        }
        try json.finish()
        if end != nil { update.hasFinishReason = true }
    }

    private mutating func readUsage(_ json: inout JSONCursor) throws(JSONError) {
        var later = UsageTally()
        while let key = try json.nextKey() {
            switch key {
            case "inputTokens": later.input = try json.count()
            case "outputTokens": later.output = try json.count()
            case "cacheReadInputTokens": later.cachedInput = try json.count()
            case "cacheWriteInputTokens": later.cacheWrite = try json.count()
            default: continue
            }
        }
        usage.merge(later)
    }

    private static func verdict(_ reason: String) -> ParsedUpdate.Verdict {
        switch reason {
        case "end_turn", "stop_sequence", "tool_use": .ended(.stop)
        case "max_tokens", "model_context_window_exceeded": .ended(.length)
        case "guardrail_intervened", "content_filtered": .ended(.filtered)
        case _ where reason.hasPrefix("malformed_"): .broken(.errorFrame, detail: ErrorCode.validated(reason) ?? "malformed")
        default: .ended(.unknown)
        }
    }
}
