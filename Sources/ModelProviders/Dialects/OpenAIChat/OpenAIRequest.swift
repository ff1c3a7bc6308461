import CoachCore
import JSON

/// The body of a streamed Chat Completions request.
enum OpenAIRequest {
    /// The name of the limit on answer tokens: newer OpenAI models reject the older name, many compatible servers know only that one.
    enum TokenLimitField: String, CaseIterable {
        case maxCompletionTokens = "max_completion_tokens"
        case maxTokens = "max_tokens"
    }

    static let path = "/chat/completions"
    static let reserved: Set<String> = [
        "model", "messages", "stream", "stream_options", "max_completion_tokens", "max_tokens", "temperature", "store", "n",
    ]
    static let omittable: Set<String> = ["stream_options", "store"]
    private static let tokenLimitOption = "token_limit_field"

    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] {
        let field: TokenLimitField? = try json.optional(tokenLimitOption, .choice)
        return field.map { [tokenLimitOption: .string($0.rawValue)] } ?? [:]
    }

    /// Without the newer name of the token limit, unless the model is one of OpenAI's, which reject the older one: the dialect's holds.
    static func options(_ options: [String: JSONValue], forOtherModel model: String) -> [String: JSONValue] {
        if isOpenAIs(model) { return options }
        return options.filter { $0.key != tokenLimitOption || $0.value.string != TokenLimitField.maxCompletionTokens.rawValue }
    }

    /// By its name, perhaps behind a provider's: `gpt-5-mini`, `openai/o4-mini`. Models of open weights, `gpt-oss`, are served by others.
    private static func isOpenAIs(_ model: String) -> Bool {
        let name = model[(model.lastIndex(of: "/").map { model.index(after: $0) } ?? model.startIndex)...]
        if name.hasPrefix("gpt-") { return !name.hasPrefix("gpt-oss") }
        return name.first == "o" && name.dropFirst().first?.isNumber == true
    }

    static func messages(_ prompt: Prompt) -> [UInt8] {
        JSONWriter.members { json in
            json.key(literal: "messages")
            json.messages(prompt.messages)
        }
    }

    /// All members but the model and the messages.
    static func write(_ call: DialectCall, tokenLimit field: TokenLimitField, to json: inout JSONWriter) {
        json.member("stream", true)
        if !call.omitted.contains("stream_options") {
            json.key(literal: "stream_options")
            json.object { $0.member("include_usage", true) }
        }
        switch call.options[tokenLimitOption]?.string.flatMap(TokenLimitField.init) ?? field {
        case .maxCompletionTokens: json.member("max_completion_tokens", call.maximumOutputTokens)
        case .maxTokens: json.member("max_tokens", call.maximumOutputTokens)
        }
        if let temperature = call.temperature { json.member("temperature", temperature) }
    }
}
