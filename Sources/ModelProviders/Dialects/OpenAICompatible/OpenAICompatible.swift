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

    static func options(_ options: [String: JSONValue], forOtherModel model: String) -> [String: JSONValue] {
        OpenAIRequest.options(options, forOtherModel: model)
    }

    /// Many models' templates take a system message at the beginning only, or one.
    static func encode(_ prompt: Prompt) -> [UInt8] { OpenAIRequest.messages(prompt.withStrictRoles) }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.member("model", call.model)
        OpenAIRequest.write(call, tokenLimit: .maxTokens, to: &json)
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) { (OpenAIRequest.path, []) }

    static func makeReader(model: String) -> any AnswerReader { OpenAIAnswerReader(mayBeginWithReasoning: true) }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError {
        // 402: credits (OpenRouter). 498: no capacity at this price (Groq).
        switch head.status {
        case 400 where isAboutKey(body): ProviderError(code: OpenAIError.read(body).code, kind: .key)
        case 402: ProviderError(code: OpenAIError.read(body).code, kind: .money)
        case 498: ProviderError(code: OpenAIError.read(body).code, kind: .temporary)
        default: OpenAIError.read(body)
        }
    }

    /// Of a wrong key xAI says only in the message that it is one.
    private static func isAboutKey(_ body: [UInt8]) -> Bool {
        let error = ErrorCode.object(in: body)
        let message = error?["message"]?.string ?? error?["error"]?.string
        return message?.lowercased().hasPrefix("incorrect api key") == true
    }
}
