import CoachCore
import JSON
import TokenRelay

/// Azure OpenAI: Chat Completions at other addresses. Its answers have further frames about content filters, which the reader of Chat Completions ignores.
///
/// The model is the name of a deployment. With `api_version` the dated interface is called, without it `/openai/v1`.
enum AzureOpenAI: WireFormat {
    static let name = "azure-openai"
    static let keyHeader = Provider.KeyHeader.field("api-key")
    static let settings = [DialectSetting(name: "api_version")]
    static let reserved = OpenAIRequest.reserved
    static let omittable = OpenAIRequest.omittable

    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] { try OpenAIRequest.options(json) }

    static func options(_ options: [String: JSONValue], forOtherModel model: String) -> [String: JSONValue] {
        OpenAIRequest.options(options, forOtherModel: model)
    }

    static func encode(_ prompt: Prompt) -> [UInt8] { OpenAIRequest.messages(prompt) }

    static func write(_ call: DialectCall, to json: inout JSONWriter) { OpenAIChat.write(call, to: &json) }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) {
        guard let version = call.settings["api_version"] else { return ("/openai/v1\(OpenAIRequest.path)", []) }
        return ("/openai/deployments/\(PercentEncoding.encode(call.model))\(OpenAIRequest.path)", [("api-version", version)])
    }

    static func makeReader(model: String) -> any AnswerReader { OpenAIChat.makeReader(model: model) }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError {
        var error = OpenAIError.read(body)
        // A prompt that the filter blocks is billed (Microsoft Learn, "Content streaming").
        if head.status == 400, error.code == "content_filter" { (error.kind, error.isBilled) = (.moderation, true) }
        return error
    }
}
