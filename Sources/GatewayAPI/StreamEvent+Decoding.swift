import JSON

extension StreamEvent {
    /// Decodes the data of a server-sent event; nil for an unknown type, which a newer server may send. Unknown members are ignored.
    public init?(json bytes: [UInt8]) throws(JSONFinding) {
        do throws(JSONError) {
            if let token = try Self.token(bytes) {
                self = token
                return
            }
        } catch {
            throw JSONFinding("", .malformed(error))
        }
        let json = try JSONReader(parsing: bytes)
        switch try json.required("type", as: String.self) {
        case "start": self = .start(try StreamStart(json))
        case "safety": self = .safety(try StreamSafety(json))
        // `token(_:)` returned nil: the content is missing or of another type. This throws the error that names it.
        case "token": self = .token(content: try json.required("content"))
        case "usage": self = .usage(try StreamUsage(json))
        case "done": self = .done(try StreamDone(json))
        case "error": self = .error(try StreamFailure(json))
        default: return nil
        }
    }

    /// Decodes a token event without building a tree; nil for any other event.
    private static func token(_ bytes: [UInt8]) throws(JSONError) -> StreamEvent? {
        var cursor = JSONCursor(bytes, strings: .repairing)
        guard try cursor.peek() == .object else { return nil }
        var isToken = false
        var content: String?
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            if key == "type" {
                guard try cursor.peek() == .string, try cursor.readString() == "token" else { return nil }
                isToken = true
            } else if key == "content", try cursor.peek() == .string {
                content = try cursor.readString()
            }
        }
        try cursor.finish()
        guard isToken, let content else { return nil }
        return .token(content: content)
    }
}

extension StreamStart: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        var disclosure: Disclosure?
        if let object = try json.member("disclosure") {
            disclosure = Disclosure(text: try object.required("text"), version: try object.required("version"))
        }
        self.init(
            turnID: try json.required("turn_id"), conversationID: try json.required("conversation_id"),
            userMessageID: try json.required("user_message_id"), messageID: try json.required("message_id"),
            attempt: try json.optional("attempt") ?? 1, domain: try json.optional("domain"),
            domainConfidence: try json.optional("domain_confidence"),
            personaID: try json.optional("persona_id"), model: try json.required("model"), disclosure: disclosure,
            requestID: try json.required("request_id"))
    }
}

extension StreamSafety: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            // A safety card must never be lost: an unknown severity is decoded as the more severe one.
            severity: Severity(rawValue: try json.required("severity")) ?? .acute,
            tier: try json.required("tier"),
            categories: try json.optional("categories") ?? [],
            resources: try json.optional("resources") ?? [],
            message: try json.required("message"))
    }
}

extension SafetyResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            name: try json.required("name"), phone: try json.optional("phone"), sms: try json.optional("sms"),
            url: try json.optional("url"), hours: try json.optional("hours"),
            country: try json.optional("country"))
    }
}

extension StreamUsage: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            model: try json.optional("model"), provider: try json.optional("provider"),
            inputTokens: try json.optional("input_tokens"),
            cachedInputTokens: try json.optional("cached_input_tokens"),
            outputTokens: try json.optional("output_tokens"), costUSD: try json.optional("cost_usd"),
            estimated: try json.required("estimated"))
    }
}

extension StreamDone: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            finishReason: Reason(rawValue: try json.required("finish_reason")) ?? .stop, messageID: try json.required("message_id"))
    }
}

extension StreamFailure: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        let body = try ErrorBody(json)
        self.init(
            code: body.code, message: body.message, userMessage: body.userMessage, action: body.action,
            retryable: try json.required("retryable"), retryAfter: body.retryAfter, partial: try json.required("partial"),
            keptBytes: try json.optional("kept_bytes"))
    }
}
