import CoachCore
import JSON

/// The frames of `streamGenerateContent`: one `GenerateContentResponse` each, without an end mark. The answer ends when the connection does
/// after a `finishReason`, or with a prompt that was blocked.
struct GeminiFrames: FrameReader {
    /// The prompt's count includes cached tokens; the candidates' count is without thoughts.
    private static let inclusion = UsageTally.Inclusion(inputHasCache: true, outputHasReasoning: false)

    private var finish: ParsedUpdate.Verdict?
    private var usage = UsageTally()
    private var frame: [UInt8] = []

    var verdictAtEnd: ParsedUpdate.Verdict { finish ?? .cut }

    mutating func read(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) throws(JSONError) -> ParsedUpdate.Verdict? {
        guard frame.replace(withObject: data) else { return nil }
        let chunk = try GeminiChunk(frame, text: &update.text)
        if chunk.isPromptBlocked { finish = .ended(.filtered) }
        if let reason = chunk.finishReason { finish = Self.verdict(reason) }
        if finish != nil { update.hasFinishReason = true }
        update.reasoningBytes += chunk.reasoningBytes
        if let counts = chunk.usage {
            usage.merge(counts)
            update.usage = usage.classes(Self.inclusion, isFinal: finish != nil)
        }
        return chunk.error.map(ParsedUpdate.Verdict.failed)
    }

    private static func verdict(_ reason: String) -> ParsedUpdate.Verdict? {
        switch reason {
        case "", "FINISH_REASON_UNSPECIFIED": nil
        case "STOP": .ended(.stop)
        case "MAX_TOKENS": .ended(.length)
        case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR": .ended(.filtered)
        case _ where reason.hasPrefix("IMAGE_"): .ended(.filtered)
        case "OTHER", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE": .broken(.errorFrame, detail: reason)
        case _ where reason.hasPrefix("MALFORMED_"): .broken(.errorFrame, detail: ErrorCode.validated(reason) ?? "malformed")
        default: .ended(.unknown)
        }
    }
}

/// One frame, as far as it concerns us: the text of the first candidate, without thoughts.
private struct GeminiChunk {
    var usage: UsageTally?
    var finishReason: String?
    var isPromptBlocked = false
    var reasoningBytes = 0
    var error: ProviderError?

    init(_ data: [UInt8], text: inout [UInt8]) throws(JSONError) {
        var json = JSONCursor(data, strings: .keepingSurrogates)
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "candidates":
                guard try json.entersArray() else { continue }
                while try json.nextElement() {
                    if try json.entersObject() { try readCandidate(&json, &text) }
                }
            case "usageMetadata":
                if try json.entersObject() { usage = try Self.usage(&json) }
            case "promptFeedback":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "blockReason", try json.text() != nil { isPromptBlocked = true }
                }
            case "error": error = try ErrorCode.read(&json, as: Gemini.error)
            default: continue
            }
        }
        try json.finish()
    }

    private mutating func readCandidate(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        let start = text.count
        var index = 0
        var reason: String?
        while let key = try json.nextKey() {
            switch key {
            case "index": index = try json.count() ?? 0
            case "finishReason": reason = try json.text()
            case "content":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    guard key == "parts", try json.entersArray() else { continue }
                    while try json.nextElement() {
                        if try json.entersObject() { try readPart(&json, &text) }
                    }
                }
            default: continue
            }
        }
        if index == 0 { finishReason = reason ?? finishReason } else { text.removeSubrange(start...) }
    }

    private mutating func readPart(_ json: inout JSONCursor, _ text: inout [UInt8]) throws(JSONError) {
        let start = text.count
        var isThought = false
        while let key = try json.nextKey() {
            switch key {
            case "text": try json.appendText(to: &text)
            case "thought": isThought = try json.flag() ?? false
            default: continue
            }
        }
        guard isThought else { return }
        reasoningBytes += text.count - start
        text.removeSubrange(start...)
    }

    private static func usage(_ json: inout JSONCursor) throws(JSONError) -> UsageTally {
        var usage = UsageTally()
        var tools: Int?
        var total: Int?
        while let key = try json.nextKey() {
            switch key {
            case "promptTokenCount": usage.input = try json.count()
            case "toolUsePromptTokenCount": tools = try json.count()
            case "cachedContentTokenCount": usage.cachedInput = try json.count()
            case "candidatesTokenCount": usage.output = try json.count()
            case "thoughtsTokenCount": usage.reasoning = try json.count()
            case "totalTokenCount": total = try json.count()
            default: continue
            }
        }
        usage.input = usage.input.map { $0 + (tools ?? 0) }
        // Gemini leaves out a count of 0. The total shows that it is one.
        if usage.output == nil, let input = usage.input, total == input + (usage.reasoning ?? 0) { usage.output = 0 }
        return usage
    }
}
