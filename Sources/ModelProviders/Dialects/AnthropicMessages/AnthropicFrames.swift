import CoachCore
import JSON

/// The events of a streamed Messages answer: `message_start`, blocks with deltas, `message_delta` with the stop reason and cumulative usage,
/// `message_stop`; `ping` and `error` at any time.
struct AnthropicFrames: FrameReader {
    /// `input_tokens` is without the tokens of the cache; `output_tokens` is with those of thinking.
    private static let inclusion = UsageTally.Inclusion(inputHasCache: false, outputHasReasoning: true)

    private var stopReason: ParsedUpdate.Verdict?
    /// Whether `message_delta` has reported usage, which is what is billed. `message_start` counts one token of output.
    private var hasFinalUsage = false
    private var template = FrameTemplate()
    private var usage = UsageTally()
    private var frame: [UInt8] = []

    var verdictAtEnd: ParsedUpdate.Verdict { stopReason ?? .cut }

    func readUsingTemplate(_ data: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) -> Bool { template.read(data, into: &text) }

    mutating func read(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) throws(JSONError) -> ParsedUpdate.Verdict? {
        guard frame.replace(withObject: data) else { return nil }
        let start = update.text.count
        let event = try AnthropicEvent(frame, text: &update.text)
        if event.isText {
            if let place = event.textPlace { template.learn(data, FrameTemplate.Places(text: place)) }
        } else {
            update.text.removeSubrange(start...)
        }
        update.reasoningBytes += event.reasoningBytes
        if let counts = event.usage {
            usage.merge(counts)
            hasFinalUsage = hasFinalUsage || event.type == "message_delta"
            update.usage = usage.classes(Self.inclusion, isFinal: hasFinalUsage)
        }
        if let reason = event.stopReason { stopReason = Self.verdict(reason) }
        if stopReason != nil { update.hasFinishReason = true }
        if event.type == "message_stop" { return stopReason ?? .ended(.stop) }
        return (event.error ?? (event.type == "error" ? ProviderError() : nil)).map(ParsedUpdate.Verdict.failed)
    }

    private static func verdict(_ reason: String) -> ParsedUpdate.Verdict {
        switch reason {
        case "end_turn", "stop_sequence", "tool_use", "pause_turn": .ended(.stop)
        case "max_tokens", "model_context_window_exceeded": .ended(.length)
        case "refusal", "content_filter": .ended(.filtered)
        // Compatible servers.
        case "error", "abort": .broken(.errorFrame, detail: reason)
        default: .ended(.unknown)
        }
    }
}

/// One event, as far as it concerns us.
private struct AnthropicEvent {
    var type = ""
    var usage: UsageTally?
    var stopReason: String?
    var error: ProviderError?
    /// Where the text stood in the frame, without its quotes.
    var textPlace: Range<Int>?
    var reasoningBytes = 0
    private var partType = ""

    /// Whether the text that was read belongs to the answer: thinking, tools, signatures and citations do not.
    var isText: Bool {
        type == "content_block_delta" && partType == "text_delta" || type == "content_block_start" && partType == "text"
    }

    init(_ data: [UInt8], text: inout [UInt8]) throws(JSONError) {
        var json = JSONCursor(data, strings: .keepingSurrogates)
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "type": type = try json.text() ?? ""
            case "message", "delta", "content_block":
                if try json.entersObject() { try readPart(&json, &text) }
            case "usage":
                if try json.entersObject() { usage = try Self.usage(&json) }
            case "error": error = try ErrorCode.read(&json, as: AnthropicMessages.error)
            default: continue
            }
        }
        try json.finish()
        // The frame of a block's start is no template for the deltas that follow.
        if type != "content_block_delta" { textPlace = nil }
    }

    private mutating func readPart(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        while let key = try json.nextKey() {
            switch key {
            case "type": partType = try json.text() ?? ""
            case "text":
                guard try json.peek() == .string else { continue }
                let start = json.offset + 1
                try json.appendText(to: &text)
                textPlace = start..<json.offset - 1
            case "thinking": reasoningBytes += try json.countText(using: &text)
            case "stop_reason": stopReason = try json.text()
            case "usage":
                if try json.entersObject() { usage = try Self.usage(&json) }
            default: continue
            }
        }
    }

    private static func usage(_ json: inout JSONCursor) throws(JSONError) -> UsageTally {
        var usage = UsageTally()
        while let key = try json.nextKey() {
            switch key {
            case "input_tokens": usage.input = try json.count()
            case "cache_read_input_tokens": usage.cachedInput = try json.count()
            case "cache_creation_input_tokens": usage.cacheWrite = try json.count()
            case "output_tokens": usage.output = try json.count()
            case "output_tokens_details":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "thinking_tokens" { usage.reasoning = try json.count() }
                }
            default: continue
            }
        }
        return usage
    }
}

/// `EventStreamAnswerReader`, specialized for these frames.
struct AnthropicAnswerReader: AnswerReader {
    private var reader = EventStreamAnswerReader(AnthropicFrames())

    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate) { reader.read(bytes, into: &update) }

    mutating func finish(into update: inout ParsedUpdate) { reader.finish(into: &update) }
}
