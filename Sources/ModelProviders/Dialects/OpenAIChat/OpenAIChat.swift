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

    static func encode(_ prompt: Prompt) -> [UInt8] { OpenAIRequest.messages(prompt) }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.member("model", call.model)
        OpenAIRequest.write(call, tokenLimit: .maxCompletionTokens, to: &json)
        if !call.omitted.contains("store") { json.member("store", false) }
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) { (OpenAIRequest.path, []) }

    static func makeReader(model: String) -> any AnswerReader { OpenAIAnswerReader() }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError { OpenAIError.read(body) }
}
