import CoachCore
import JSON

/// The events of a streamed Responses answer. Text and refusals are text; reasoning and tools are not. The answer ends with
/// `response.completed`, `.incomplete`, `.failed` or `error`; a stream that closes without one was cut.
struct ResponsesFrames: FrameReader {
    private var usage = UsageTally()
    private var frame: [UInt8] = []

    private static let terminals: Set<String> = [
        "response.completed", "response.incomplete", "response.failed", "response.cancelled",
    ]

    var verdictAtEnd: ParsedUpdate.Verdict { .cut }

    mutating func read(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) throws(JSONError) -> ParsedUpdate.Verdict? {
        guard frame.replace(withObject: data) else { return nil }
        let start = update.text.count
        let event = try Event(frame, text: &update.text)
        if let counts = event.response.usage {
            usage.merge(counts)
            update.usage = usage.classes(OpenAIUsage.inclusion, isFinal: Self.terminals.contains(event.type))
        }
        switch event.type {
        case "response.output_text.delta", "response.refusal.delta": return nil
        case "response.reasoning_text.delta", "response.reasoning_summary_text.delta": update.reasoningBytes += update.text.count - start
        default: break
        }
        update.text.removeSubrange(start...)
        switch event.type {
        case "response.completed": return .ended(.stop)
        case "response.incomplete":
            switch event.response.incompleteReason {
            case "max_output_tokens"?: return .ended(.length)
            case "content_filter"?: return .ended(.filtered)
            case let reason: return .broken(.errorFrame, detail: ErrorCode.validated(reason) ?? "incomplete")
            }
        case "response.cancelled": return .broken(.errorFrame, detail: "cancelled")
        case "response.failed": return .failed(event.response.error ?? ProviderError())
        case "error": return .failed(event.error ?? ProviderError())
        default:
            // What other servers send in place of `error`.
            return event.type.isEmpty ? event.error.map(ParsedUpdate.Verdict.failed) : nil
        }
    }
}

/// One event, as far as it concerns us.
private struct Event {
    var type = ""
    var response = Response()
    var error: ProviderError?

    struct Response {
        var usage: UsageTally?
        var incompleteReason: String?
        var error: ProviderError?
    }

    /// Appends `delta`, whatever the type of the event is.
    init(_ data: [UInt8], text: inout [UInt8]) throws(JSONError) {
        var json = JSONCursor(data, strings: .keepingSurrogates)
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "type": type = try json.text() ?? ""
            case "delta": try json.appendText(to: &text)
            case "response":
                if try json.entersObject() { try response.read(&json) }
            case "code": error = ErrorCode.validated(try json.text()).map { OpenAIError.read(code: $0) } ?? error
            case "error": error = try ErrorCode.read(&json, as: OpenAIError.read(_:)) ?? error
            default: continue
            }
        }
        try json.finish()
    }
}

extension Event.Response {
    fileprivate mutating func read(_ json: inout JSONCursor) throws(JSONError) {
        while let key = try json.nextKey() {
            switch key {
            case "usage":
                if try json.peek() == .object { usage = try OpenAIUsage.read(&json) }
            case "incomplete_details":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "reason" { incompleteReason = try json.text() }
                }
            case "error": error = try ErrorCode.read(&json, as: OpenAIError.read(_:))
            default: continue
            }
        }
    }
}
