import CoachCore
import JSON

/// One `chat.completion.chunk`, as far as it concerns us: text of the first choice (a refusal is text), why it finished, usage, error.
/// Of reasoning only the size is read; tool calls are skipped. Members that are null, absent or of an unexpected type are ignored.
struct OpenAIChunk {
    /// What a finish reason says.
    enum Finish: Equatable {
        case end(ModelEnd)
        /// The provider stopped early by its own fault.
        case failure(String)
    }

    private(set) var finish: Finish?
    private(set) var usage: UsageTally?
    private(set) var error: ProviderError?
    private(set) var hasChoices = false
    private(set) var reasoningBytes = 0
    /// The number of strings of text that were read, those of other choices included.
    private var texts = 0
    private var hasOtherChoices = false
    private var places = FrameTemplate.Places(text: 0..<0)

    /// Where its text stands, if it is one string of the first choice and the chunk has nothing else that is read.
    var ordinaryPlaces: FrameTemplate.Places? {
        guard texts == 1, !hasOtherChoices, reasoningBytes == 0, finish == nil, usage == nil, error == nil else { return nil }
        return places
    }

    /// Appends the chunk's text; after a throw, `text` may hold a part of it.
    init(_ data: [UInt8], text: inout [UInt8]) throws(JSONError) {
        var json = JSONCursor(data, strings: .keepingSurrogates)
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "choices":
                guard try json.entersArray() else { continue }
                while try json.nextElement() { try readChoice(&json, &text) }
            case "usage":
                if try json.peek() == .object { usage = try OpenAIUsage.read(&json) }
            case "error": error = try ErrorCode.read(&json, as: OpenAIError.read(_:))
            case "x_groq": try readGroq(&json)
            case "obfuscation":
                // Padding, which hides the length of the text from observers of the network.
                guard texts == 1, try json.peek() == .string else { continue }
                places.padding = try Self.insideOfString(&json) { json throws(JSONError) in try json.skipValue() }
            default: continue
            }
        }
        try json.finish()
    }

    private mutating func readChoice(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        guard try json.entersObject() else { return }
        hasChoices = true
        let start = text.count
        var index = 0
        var reason: Finish?
        while let key = try json.nextKey() {
            switch key {
            case "index":
                if try json.peek() == .number { index = try json.readInteger() }
            case "delta":
                if try json.entersObject() { try readDelta(&json, &text) }
            case "finish_reason":
                if try json.peek() == .string { reason = Self.finish(try json.readString()) }
            default: continue
            }
        }
        if index == 0 {
            finish = reason ?? finish
        } else {
            text.removeSubrange(start...)
            hasOtherChoices = true
        }
    }

    private mutating func readDelta(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        // Some servers send the same under both names.
        var reasoning = 0
        defer { reasoningBytes += reasoning }
        while let key = try json.nextKey() {
            if key == "reasoning" || key == "reasoning_content" { reasoning = max(reasoning, try json.countText(using: &text)) }
            guard key == "content" || key == "refusal" else { continue }
            switch try json.peek() {
            case .string:
                let start = text.count
                places.text = try Self.insideOfString(&json) { json throws(JSONError) in try json.readString(into: &text) }
                texts += 1
                text.removeNULs(from: start)
            case .array: try readParts(&json, &text)
            default: continue
            }
        }
    }

    /// Mistral's reasoning models send text and thinking as parts; only those of text have a `text`.
    private mutating func readParts(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        // More than one, so the frame is no template for others.
        texts += 2
        try json.beginArray()
        while try json.nextElement() {
            guard try json.entersObject() else { continue }
            while let key = try json.nextKey() {
                if key == "text" { try json.appendText(to: &text) }
                if key == "thinking" { try readThinking(&json, using: &text) }
            }
        }
    }

    /// Mistral sends thinking as parts of text, or as the text itself.
    private mutating func readThinking(_ json: inout JSONCursor, using scratch: inout [UInt8]) throws(JSONError) {
        guard try json.entersArray() else { return reasoningBytes += try json.countText(using: &scratch) }
        while try json.nextElement() {
            guard try json.entersObject() else { continue }
            while let key = try json.nextKey() {
                if key == "text" { reasoningBytes += try json.countText(using: &scratch) }
            }
        }
    }

    /// Groq's own member of the first and the last chunk.
    private mutating func readGroq(_ json: inout JSONCursor) throws(JSONError) {
        guard try json.entersObject() else { return }
        while let key = try json.nextKey() {
            switch key {
            case "usage":
                if try json.peek() == .object { usage = try OpenAIUsage.read(&json) }
            case "error": error = try ErrorCode.read(&json, as: OpenAIError.read(_:)) ?? error
            default: continue
            }
        }
    }

    /// Reads the next value, a string, with `read`. Returns its place in the frame, without the quotes.
    private static func insideOfString(
        _ json: inout JSONCursor, _ read: (inout JSONCursor) throws(JSONError) -> Void
    ) throws(JSONError) -> Range<Int> {
        let start = json.offset + 1
        try read(&json)
        return start..<json.offset - 1
    }

    /// nil for an empty reason, which some servers send before the end. We offer no tools.
    private static func finish(_ reason: String) -> Finish? {
        switch reason {
        case "": nil
        case "stop", "tool_calls", "function_call", "eos", "eos_token", "stop_sequence", "end_turn": .end(.stop)
        case "length", "max_tokens", "model_length": .end(.length)
        // OpenAI; GLM.
        case "content_filter", "sensitive": .end(.filtered)
        // OpenRouter and Mistral; vLLM and SGLang; DeepSeek; GLM.
        case "error", "abort", "insufficient_system_resource", "network_error": .failure(reason)
        default: .end(.unknown)
        }
    }
}
