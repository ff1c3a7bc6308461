import JSON

extension StreamEvent {
    /// Decodes the data of a server-sent event; nil for an unknown type, which a newer server may send. Unknown members are ignored.
    public init?(json: [UInt8]) throws(WireError) {
        do throws(JSONError) {
            if let token = try Self.token(json) {
                self = token
                return
            }
        } catch {
            throw .malformed(error)
        }
        let fields = try WireFields(json: json)
        switch try fields.string("type") {
        case "start": self = .start(try StreamStart(fields))
        case "safety": self = .safety(try StreamSafety(fields))
        // `token(_:)` returned nil: the content is missing or of another type. This throws the error that names it.
        case "token": self = .token(content: try fields.string("content"))
        case "usage": self = .usage(try StreamUsage(fields))
        case "done": self = .done(try StreamDone(fields))
        case "error": self = .error(try StreamFailure(fields))
        default: return nil
        }
    }

    /// Decodes a token event without building a tree; nil for any other event.
    private static func token(_ json: [UInt8]) throws(JSONError) -> StreamEvent? {
        var cursor = JSONCursor(json, strings: .repairing)
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

extension StreamStart {
    init(_ fields: WireFields) throws(WireError) {
        var disclosure: Disclosure?
        if let object = try fields.optionalObject("disclosure") {
            disclosure = Disclosure(text: try object.string("text"), version: try object.string("version"))
        }
        self.init(
            turnID: try fields.id("turn_id"), conversationID: try fields.id("conversation_id"),
            userMessageID: try fields.id("user_message_id"), messageID: try fields.id("message_id"),
            attempt: try fields.optionalInteger("attempt") ?? 1, domain: try fields.optionalString("domain"),
            domainConfidence: try fields.optionalNumber("domain_confidence"),
            personaID: try fields.optionalID("persona_id"), model: try fields.string("model"), disclosure: disclosure,
            requestID: try fields.string("request_id"))
    }
}

extension StreamSafety {
    init(_ fields: WireFields) throws(WireError) {
        self.init(
            // A safety card must never be lost: an unknown severity is decoded as the more severe one.
            severity: Severity(rawValue: try fields.string("severity")) ?? .acute,
            tier: try fields.integer("tier"),
            categories: try fields.strings("categories"),
            resources: try fields.list("resources") { (resource) throws(WireError) in try SafetyResource(resource) },
            message: try fields.string("message"))
    }

    /// Decodes the card from `details.safety` of an error response.
    public init(_ value: JSONValue) throws(WireError) {
        try self.init(WireFields(value))
    }
}

extension SafetyResource {
    init(_ fields: WireFields) throws(WireError) {
        self.init(
            name: try fields.string("name"), phone: try fields.optionalString("phone"), sms: try fields.optionalString("sms"),
            url: try fields.optionalString("url"), hours: try fields.optionalString("hours"),
            country: try fields.optionalString("country"))
    }
}

extension StreamUsage {
    init(_ fields: WireFields) throws(WireError) {
        self.init(
            model: try fields.string("model"), provider: try fields.string("provider"),
            inputTokens: try fields.optionalInteger("input_tokens"),
            cachedInputTokens: try fields.optionalInteger("cached_input_tokens"),
            outputTokens: try fields.optionalInteger("output_tokens"), costUSD: try fields.optionalString("cost_usd"),
            estimated: try fields.bool("estimated"))
    }
}

extension StreamDone {
    init(_ fields: WireFields) throws(WireError) {
        self.init(
            finishReason: FinishReason(rawValue: try fields.string("finish_reason")) ?? .stop, messageID: try fields.id("message_id"))
    }
}

extension StreamFailure {
    init(_ fields: WireFields) throws(WireError) {
        let body = try ErrorBody(fields)
        self.init(
            code: body.code, message: body.message, userMessage: body.userMessage, action: body.action,
            retryable: try fields.bool("retryable"), retryAfter: body.retryAfter, partial: try fields.bool("partial"),
            keptBytes: try fields.optionalInteger("kept_bytes"))
    }
}
