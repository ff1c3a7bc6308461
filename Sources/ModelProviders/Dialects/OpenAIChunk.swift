import CoachCore
import JSON

/// One `chat.completion.chunk`, as far as it concerns us: text of the first choice (a refusal is text), why it finished, usage, error.
/// Reasoning and tool calls are skipped. Members that are null, absent or of an unexpected type are ignored.
struct OpenAIChunk {
    static let malformed = "malformed frame"

    private(set) var finishReason: ModelEnd?
    private(set) var usage: TokenUsage?
    /// The provider's code, fit for the log.
    private(set) var error: String?
    /// Strings of text that were read, those of other choices included.
    private var texts = 0
    private var hasOtherChoices = false
    private var places = OpenAIFrameTemplate.Places(text: 0..<0)

    /// The range of its text, if it has nothing else: one string, of the choice that counts.
    var ordinaryPlaces: OpenAIFrameTemplate.Places? {
        guard texts == 1, !hasOtherChoices, finishReason == nil, usage == nil, error == nil else { return nil }
        return places
    }

    /// Appends the chunk's text; after a throw, `text` may hold a part of it.
    init(_ data: [UInt8], text: inout [UInt8]) throws(JSONError) {
        var json = JSONCursor(data, strings: .repairing)
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "choices":
                guard try json.peek() == .array else { continue }
                try json.beginArray()
                while try json.nextElement() { try readChoice(&json, &text) }
            case "usage":
                if try json.peek() == .object { usage = try OpenAIUsage(&json).classes }
            case "error":
                if try json.peek() != .null { error = try OpenAIError.code(&json) ?? "error" }
            case "obfuscation":
                // Padding against readers of packet lengths.
                guard texts == 1, try json.peek() == .string else { continue }
                places.padding = try Self.insideOfString(&json) { json throws(JSONError) in try json.skipValue() }
            default: continue
            }
        }
        try json.finish()
    }

    private mutating func readChoice(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        guard try json.peek() == .object else { return }
        let start = text.count
        var index = 0
        var reason: ModelEnd?
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "index":
                if try json.peek() == .number { index = try json.readInteger() }
            case "delta":
                if try json.peek() == .object { try readDelta(&json, &text) }
            case "finish_reason":
                if try json.peek() == .string { reason = Self.end(try json.readString()) }
            default: continue
            }
        }
        if index == 0 {
            finishReason = reason ?? finishReason
        } else {
            text.removeSubrange(start...)
            hasOtherChoices = true
        }
    }

    private mutating func readDelta(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        try json.beginObject()
        while let key = try json.nextKey() {
            guard key == "content" || key == "refusal", try json.peek() == .string else { continue }
            let start = text.count
            places.text = try Self.insideOfString(&json) { json throws(JSONError) in try json.readString(into: &text) }
            texts += 1
            // PostgreSQL cannot keep U+0000, so it is dropped from answers (CONTRACT §4).
            if text[start...].contains(0) { text.replaceSubrange(start..., with: text[start...].filter { $0 != 0 }) }
        }
    }

    /// Where the inside of a string stood that `read` consumed; the cursor stands before its opening quote.
    private static func insideOfString(
        _ json: inout JSONCursor, _ read: (inout JSONCursor) throws(JSONError) -> Void
    ) throws(JSONError) -> Range<Int> {
        let start = json.offset + 1
        try read(&json)
        return start..<json.offset - 1
    }

    /// nil for an empty reason, which some servers send before the end. We offer no tools; other words of compatible servers mean an end.
    private static func end(_ reason: String) -> ModelEnd? {
        switch reason {
        case "": nil
        case "length", "max_tokens": .length
        case "content_filter": .filtered
        default: .stop
        }
    }
}

/// OpenAI counts cached tokens within the prompt's and reasoning within the completion's; our classes are disjoint.
private struct OpenAIUsage {
    private var prompt: Int?
    private var cached: Int?
    private var cacheWrite: Int?
    private var completion: Int?
    private var reasoning: Int?

    init(_ json: inout JSONCursor) throws(JSONError) {
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "prompt_tokens": prompt = try Self.count(&json)
            case "completion_tokens": completion = try Self.count(&json)
            case "prompt_tokens_details":
                guard try json.peek() == .object else { continue }
                try json.beginObject()
                while let key = try json.nextKey() {
                    if key == "cached_tokens" { cached = try Self.count(&json) }
                    if key == "cache_write_tokens" { cacheWrite = try Self.count(&json) }
                }
            case "completion_tokens_details":
                guard try json.peek() == .object else { continue }
                try json.beginObject()
                while let key = try json.nextKey() {
                    if key == "reasoning_tokens" { reasoning = try Self.count(&json) }
                }
            default: continue
            }
        }
    }

    /// An inner count that exceeds its total is cut to it: the total is what is billed.
    var classes: TokenUsage {
        let cached = Self.atMost(prompt, cached)
        let cacheWrite = Self.atMost(prompt.map { $0 - (cached ?? 0) }, cacheWrite)
        let reasoning = Self.atMost(completion, reasoning)
        return TokenUsage(
            input: prompt.map { $0 - (cached ?? 0) - (cacheWrite ?? 0) }, cachedInput: cached, cacheWrite: cacheWrite,
            output: completion.map { $0 - (reasoning ?? 0) }, reasoning: reasoning)
    }

    private static func atMost(_ total: Int?, _ part: Int?) -> Int? {
        guard let part, let total else { return part }
        return min(part, total)
    }

    /// A number of tokens; anything else is unknown.
    private static func count(_ json: inout JSONCursor) throws(JSONError) -> Int? {
        guard try json.peek() == .number else { return nil }
        let number = try json.readNumber()
        return Int(exactly: number).flatMap { $0 >= 0 ? $0 : nil }
    }
}
