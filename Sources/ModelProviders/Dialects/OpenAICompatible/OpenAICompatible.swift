import CoachCore
import JSON
import TokenRelay

/// Other servers with OpenAI's Chat Completions: vLLM, llama.cpp, Ollama, OpenRouter, Groq, Mistral, DeepSeek and others. Requests have no member that
/// only OpenAI knows, because some servers refuse it. The reader of Chat Completions understands the differences in their answers.
enum OpenAICompatible: WireFormat {
    static let name = "openai-compatible"
    static let basePath = OpenAIChat.basePath
    /// `store` is not sent: servers that know it have it in `parameters`.
    static let reserved = OpenAIRequest.reserved.subtracting(["store"])
    static let omittable = OpenAIRequest.omittable
    static let needsStatedOptOut = true

    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] { try OpenAIRequest.options(json) }

    /// Many models' templates take a system message at the beginning only, or one.
    static func encode(_ prompt: Prompt) -> [UInt8] { OpenAIRequest.messages(prompt.withStrictRoles) }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.member("model", call.model)
        OpenAIRequest.write(call, tokenLimit: .maxTokens, to: &json)
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) { (OpenAIRequest.path, []) }

    static func makeReader(model: String) -> any AnswerReader { OpenAIChat.makeReader(model: model) }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError {
        // 402: credits (OpenRouter). 498: no capacity at this price (Groq).
        switch head.status {
        case 402: ProviderError(code: OpenAIError.read(body).code, kind: .money)
        case 403 where isModeration(body): ProviderError(code: OpenAIError.read(body).code, kind: .moderation)
        case 498: ProviderError(code: OpenAIError.read(body).code, kind: .temporary)
        default: OpenAIError.read(body)
        }
    }

    /// OpenRouter names the reasons for which the prompt was flagged.
    private static func isModeration(_ body: [UInt8]) -> Bool {
        let metadata = ErrorCode.object(in: body)?["metadata"]
        return metadata?["reasons"]?.elements != nil || metadata?["flagged_input"] != nil
    }
}
