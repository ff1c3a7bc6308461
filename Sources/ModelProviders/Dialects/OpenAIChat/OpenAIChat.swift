import CoachCore
import JSON
import TokenRelay

/// OpenAI Chat Completions.
enum OpenAIChat: WireFormat {
    static let name = "openai"
    static let basePath = "/v1"
    static let reserved = OpenAIRequest.reserved
    static let omittable = OpenAIRequest.omittable

    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] {
        try OpenAIRequest.options(json)
    }

    static func options(_ options: [String: JSONValue], forOtherModel model: String) -> [String: JSONValue] {
        OpenAIRequest.options(options, forOtherModel: model)
    }

    static func encode(_ prompt: Prompt) -> [UInt8] { OpenAIRequest.messages(prompt) }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.member("model", call.model)
        OpenAIRequest.write(call, tokenLimit: .maxCompletionTokens, to: &json)
        if !call.omitted.contains("store") { json.member("store", false) }
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) { (OpenAIRequest.path, []) }

    static func makeReader(model: String) -> any AnswerReader { OpenAIAnswerReader(mayBeginWithReasoning: false) }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError { OpenAIError.read(body) }

    /// Whether a normalized address is one of OpenAI's own, such as `https://eu.api.openai.com/v1`. Another server in its place may know less.
    static func isOwn(_ baseURL: String) -> Bool {
        let rest = baseURL.firstRange(of: "://").map { baseURL[$0.upperBound...] } ?? baseURL[...]
        let host = rest.prefix { $0 != "/" && $0 != ":" }
        return host == "api.openai.com" || host.hasSuffix(".api.openai.com")
    }
}
