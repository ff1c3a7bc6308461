extension Envelope {
    /// The schema of a success; `isList` adds `pagination`.
    public static func schema(data: Schema, isList: Bool = false) -> Schema {
        .object(
            [.init("success", .boolean), .init("data", data), .init("error", .any.nullable)]
                + (isList ? [.init("pagination", Pagination.schema)] : []) + [.init("meta", ResponseMeta.schema)])
    }

    /// The schema of an error.
    public static let failureSchema = Schema.object([
        .init("success", .boolean.exemplified(false)), .init("data", .any.nullable),
        .init("error", .object(ErrorBody.fields).named("Error")),
        .init("meta", ResponseMeta.schema),
    ]).named("ErrorEnvelope")

    /// The schema of an error as `application/problem+json`.
    public static let problemSchema = Schema.object(
        [.init("type", .text), .init("title", .text), .init("status", .integer), .init("detail", .text)] + ErrorBody.fields
            + [.init("request_id", .text), .init("timestamp", .time)]
    ).named("Problem")
}

extension ErrorBody {
    static let fields: [Schema.Field] = [
        .init("code", .values(ErrorCode.allCases.map(\.rawValue))), .init("message", .text), .init("user_message", .text),
        .init("action", .values(ErrorAction.allCases.map(\.rawValue))), .init("retry_after", .integer.nullable),
        .init("details", .any.described("null or an object with more information, such as `field`, `findings`, `limit` and `safety`")),
    ]
}

extension Pagination {
    static let schema = Schema.object([
        .init("next_cursor", .text.nullable), .init("has_next", .boolean.described("whether there is a next_cursor")),
        .init("next_updated_since", .text, required: false),
        .init("has_more", .boolean.described("whether there are changes after next_updated_since already"), required: false),
        .init("reset", .boolean, required: false),
    ]).named("Pagination")
}

extension ResponseMeta {
    static let schema = Schema.object([
        .init("request_id", .text), .init("timestamp", .time), .init("version", .text),
        .init("as_of", .time.nullable.described("figures include everything that was booked before"), required: false),
        .init("trace", .text.described("list of the calls or users behind the figures; add a row's keys as parameters"), required: false),
    ]).named("Meta")
}
