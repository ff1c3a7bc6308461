import CoachCore
import JSON
import TokenRelay

/// OpenAI Responses.
enum OpenAIResponses: WireFormat {
    static let name = "openai-responses"
    static let basePath = OpenAIChat.basePath
    static let reserved: Set<String> = [
        "model", "input", "stream", "stream_options", "max_output_tokens", "temperature", "store", "background",
    ]
    static let omittable: Set<String> = ["stream_options", "store"]

    static func encode(_ prompt: Prompt) -> [UInt8] {
        JSONWriter.members { json in
            json.key(literal: "input")
            json.messages(prompt.messages)
        }
    }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.member("model", call.model)
        json.member("stream", true)
        if !call.omitted.contains("stream_options") {
            json.key(literal: "stream_options")
            json.object { $0.member("include_obfuscation", false) }
        }
        json.member("max_output_tokens", call.maximumOutputTokens)
        if let temperature = call.temperature { json.member("temperature", temperature) }
        if !call.omitted.contains("store") { json.member("store", false) }
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) { ("/responses", []) }

    static func makeReader(model: String) -> any AnswerReader { EventStreamAnswerReader(ResponsesFrames()) }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError { OpenAIError.read(body) }
}
