extension StreamEvent {
    /// One JSON object in a `data:` line, by its `type`.
    public static let schema = Schema.oneOf([
        event("start", StreamStart.fields), event("safety", StreamSafety.fields), event("token", [.init("content", .text)]),
        event("usage", StreamUsage.fields), event("done", StreamDone.fields), event("error", StreamFailure.fields),
    ]).named("StreamEvent")

    private static func event(_ type: String, _ fields: [Schema.Field]) -> Schema {
        .object([.init("type", .values([type])), .init("done", .boolean.described("true for the last event only"))] + fields)
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
