import GatewayAPI
import JSON

/// The body of `POST /v1/chat/completions`.
struct ChatCompletionRequest: Sendable {
    var model: String
    var conversation: ClientConversation
    var streams: Bool
    /// A last chunk with the usage.
    var includesUsage: Bool

    init(_ body: JSONReader) throws(JSONFinding) {
        model = try body.required("model", .text(1...200))
        conversation = try ClientConversation(try body.required("messages"), "messages", of: body)
        streams = try body.optional("stream") ?? false
        includesUsage = try body.member("stream_options")?.optional("include_usage") ?? false
        try body.rejectUnsupported()
        try body.rejectFormat("response_format")
    }

    static let body = ForeignBody(
        Schema.object([
            .init("model", CoachModel.schema), .init("messages", .array(of: message)),
            .optional("stream", .boolean), .optional("stream_options", .object([.optional("include_usage", .boolean)])),
        ]).named("ChatCompletionRequest"))

    static let message = Schema.object([
        .init("role", .values(ClientMessage.Role.allCases.map(\.rawValue)).exemplified("user")),
        .init("content", .any.described("a text, or an array of text parts").exemplified("I keep putting things off.")),
    ]).named("ClientMessage")
}
