import CoachCore
import JSON
import TokenRelay

/// Anthropic Messages.
enum AnthropicMessages: WireFormat {
    static let name = "anthropic"
    static let basePath = "/v1"
    static let keyHeader = Provider.KeyHeader.field("x-api-key")
    static let headers = [TransferHeader("anthropic-version", "2023-06-01")]
    static let reserved: Set<String> = ["model", "max_tokens", "stream", "temperature", "system", "messages"]

    static func encode(_ prompt: Prompt) -> [UInt8] {
        JSONWriter.members { json in
            let system = prompt.systemTexts
            if !system.isEmpty {
                json.key(literal: "system")
                json.array { json in
                    for (index, text) in system.enumerated() {
                        // The first text is the same for all turns of a persona and may be kept by the provider's cache.
                        write(text, isCached: index == 0, to: &json)
                    }
                }
            }
            json.key(literal: "messages")
            json.array { json in
                let turns = prompt.turns
                for (index, turn) in turns.enumerated() {
                    json.object { json in
                        json.member("role", turn.role.rawValue)
                        json.key(literal: "content")
                        json.array { json in
                            for (place, text) in turn.texts.enumerated() {
                                // The next turn of the conversation begins with everything up to the newest message.
                                write(text, isCached: index == turns.count - 1 && place == turn.texts.count - 1, to: &json)
                            }
                        }
                    }
                }
            }
        }
    }

    private static func write(_ text: String, isCached: Bool, to json: inout JSONWriter) {
        json.object { json in
            json.member("type", "text")
            json.member("text", text)
            guard isCached else { return }
            json.key(literal: "cache_control")
            json.object { $0.member("type", "ephemeral") }
        }
    }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.member("model", call.model)
        json.member("max_tokens", call.maximumOutputTokens)
        json.member("stream", true)
        // Anthropic allows 0 to 1, where OpenAI allows 0 to 2.
        if let temperature = call.temperature { json.member("temperature", min(temperature, 1)) }
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) { ("/messages", []) }

    static func makeReader(model: String) -> any AnswerReader { AnthropicAnswerReader() }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError { error(ErrorCode.object(in: body)) }

    /// The `error` of a body or of a frame.
    static func error(_ error: JSONValue?) -> ProviderError {
        let code = ErrorCode.first(of: ["type"], in: error)
        // Too little credit and reached usage limits are an `invalid_request_error`, and a reached spend limit a `rate_limit_error`. Only the message says so.
        let message = error?["message"]?.string?.lowercased() ?? ""
        let phrases = ["credit balance is too low", "spend limit", "api usage limits"]
        let isAboutMoney = code == "billing_error" || phrases.contains { message.contains($0) }
        let kind: ProviderError.Kind =
            switch code {
            case _ where isAboutMoney: .money
            case "authentication_error": .key
            case "permission_error": .access
            case "rate_limit_error": .rateLimit
            case "invalid_request_error", "request_too_large": .badRequest
            default: .other
            }
        return ProviderError(code: code, kind: kind)
    }
}
