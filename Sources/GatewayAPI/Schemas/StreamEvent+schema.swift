extension StreamEvent {
    /// One JSON object in a `data:` line, by its `type`.
    public static let schema = Schema.oneOf(
        [
            event("StreamStart", "start", StreamStart.fields), event("StreamSafety", "safety", StreamSafety.fields),
            event("StreamToken", "token", [.init("content", .text)]), event("StreamUsage", "usage", StreamUsage.fields),
            event("StreamDone", "done", StreamDone.fields), event("StreamError", "error", StreamFailure.fields),
        ], discriminator: "type"
    ).named("StreamEvent")

    private static func event(_ name: String, _ type: String, _ fields: [Schema.Field]) -> Schema {
        Schema.object([.init("type", .values([type])), .init("done", .boolean.described("true for the last event only"))] + fields)
            .named(name)
    }
}

extension StreamStart {
    static let fields: [Schema.Field] = [
        .init("turn_id", .id), .init("conversation_id", .id), .init("user_message_id", .id), .init("message_id", .id),
        .init("attempt", .integer, required: false), .init("domain", .text.nullable), .init("domain_confidence", .number.nullable),
        .init("persona_id", .id.nullable), .init("model", .text),
        .init("disclosure", .object([.init("text", .text), .init("version", .text)]).nullable), .init("request_id", .text),
    ]
}

extension StreamSafety {
    static let fields: [Schema.Field] = [
        .init("severity", .values(Severity.allCases.map(\.rawValue))), .init("tier", .integer(0...4)),
        .init("categories", .array(of: .text)),
        .init("resources", .array(of: SafetyResource.schema)), .init("message", .text),
    ]

    /// `details.safety` of an error.
    public static let schema = Schema.object(fields).named("SafetyCard")
}

extension SafetyResource: WireResource {
    public static let schemaName = "SafetyResource"
    public static let fields: [Schema.Field] = [
        .init("name", .text), .init("phone", .text.nullable), .init("sms", .text.nullable), .init("url", .text.nullable),
        .init("hours", .text.nullable), .init("country", .text.nullable),
    ]
}

extension StreamUsage {
    static let fields: [Schema.Field] = [
        .init("model", .text.nullable), .init("provider", .text.nullable), .init("input_tokens", .integer.nullable),
        .init("cached_input_tokens", .integer.nullable), .init("output_tokens", .integer.nullable), .init("cost_usd", .money.nullable),
        .init("estimated", .boolean),
    ]
}

extension StreamDone {
    static let fields: [Schema.Field] = [
        .init("finish_reason", .values(Reason.allCases.map(\.rawValue))), .init("message_id", .id),
    ]
}

extension StreamFailure {
    static let fields: [Schema.Field] = [
        .init("code", .values(ErrorCode.allCases.map(\.rawValue))), .init("message", .text), .init("user_message", .text),
        .init("action", .values(ErrorAction.allCases.map(\.rawValue))), .init("retryable", .boolean),
        .init("retry_after", .integer.nullable),
        .init("partial", .boolean), .init("kept_bytes", .integer.nullable),
    ]
}
