import EventStream
import JSON

extension StreamEvent {
    /// Appends the event as a server-sent event: `id: N`, one `data: ` line, a blank line.
    /// - Parameter cursor: the UTF-8 bytes of the answer sent so far, including this event's; 0 for `start` and `safety`.
    public func encode(cursor: Int, into output: inout [UInt8]) {
        EventStreamEncoder.beginEvent(id: cursor, into: &output)
        JSONWriter.append(to: &output) { write(to: &$0) }
        EventStreamEncoder.endEvent(into: &output)
    }

    /// Appends a token event without creating a `StreamEvent`: the hot path. Does not allocate once `output` is large enough.
    /// - Parameters:
    ///   - utf8: whole characters of the answer.
    ///   - cursor: the UTF-8 bytes of the answer sent so far, including these.
    public static func appendToken(_ utf8: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) {
        EventStreamEncoder.beginEvent(id: cursor, into: &output)
        append(#"{"type":"token","done":false,"content":""#, into: &output)
        JSONWriter.appendEscaped(utf8, to: &output)
        append("\"}\n\n", into: &output)
    }

    private static func append(_ literal: StaticString, into output: inout [UInt8]) {
        output.append(contentsOf: literal.utf8)
    }

    /// Writes the event as a JSON object, `type` and `done` first.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("type", type)
            writer.member("done", isLast)
            switch self {
            case .start(let start): start.writeMembers(to: &writer)
            case .safety(let safety): safety.writeMembers(to: &writer)
            case .token(let content): writer.member("content", content)
            case .usage(let usage): usage.writeMembers(to: &writer)
            case .done(let done): done.writeMembers(to: &writer)
            case .error(let failure): failure.writeMembers(to: &writer)
            }
        }
    }

    private var type: String {
        switch self {
        case .start: "start"
        case .safety: "safety"
        case .token: "token"
        case .usage: "usage"
        case .done: "done"
        case .error: "error"
        }
    }
}

extension StreamStart {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("turn_id", turnID)
        writer.member("conversation_id", conversationID)
        writer.member("user_message_id", userMessageID)
        writer.member("message_id", messageID)
        if attempt > 1 { writer.member("attempt", attempt) }
        writer.member("domain", domain)
        writer.member("domain_confidence", domainConfidence)
        writer.member("persona_id", personaID)
        writer.member("model", model)
        writer.key(literal: "disclosure")
        if let disclosure {
            writer.object { writer in
                writer.member("text", disclosure.text)
                writer.member("version", disclosure.version)
            }
        } else {
            writer.null()
        }
        writer.member("request_id", requestID)
    }
}

extension StreamSafety {
    /// Writes the card as a JSON object, for `details.safety` of an error response.
    public func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("severity", severity.rawValue)
        writer.member("tier", tier)
        writer.key(literal: "categories")
        writer.array { writer in
            for category in categories { writer.string(category) }
        }
        writer.key(literal: "resources")
        writer.array { writer in
            for resource in resources { resource.write(to: &writer) }
        }
        writer.member("message", message)
    }
}

extension SafetyResource {
    /// Writes the resource as a JSON object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name)
            writer.member("phone", phone)
            writer.member("sms", sms)
            writer.member("url", url)
            writer.member("hours", hours)
            writer.member("country", country)
        }
    }
}

extension StreamUsage {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("model", model)
        writer.member("provider", provider)
        writer.member("input_tokens", inputTokens)
        writer.member("cached_input_tokens", cachedInputTokens)
        writer.member("output_tokens", outputTokens)
        writer.member("cost_usd", costUSD)
        writer.member("estimated", estimated)
    }
}

extension StreamDone {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("finish_reason", finishReason.rawValue)
        writer.member("message_id", messageID)
    }
}

extension StreamFailure {
    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.member("code", code.rawValue)
        writer.member("message", message)
        writer.member("user_message", userMessage)
        writer.member("action", action.rawValue)
        writer.member("retryable", retryable)
        writer.member("retry_after", retryAfter)
        writer.member("partial", partial)
        writer.member("kept_bytes", keptBytes)
    }
}
