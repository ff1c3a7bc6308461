import CoachCore
import JSON
import TokenRelay

/// Google's Gemini API, `streamGenerateContent` as server-sent events.
enum Gemini: WireFormat {
    static let name = "gemini"
    static let basePath = "/v1beta"
    static let keyHeader = Provider.KeyHeader.field("x-goog-api-key")
    static let reserved: Set<String> = ["contents", "systemInstruction", "generationConfig"]
    private static let thinkingBudget = "thinking_budget"

    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] {
        // −1: the model decides; 0: no thinking.
        let budget = try json.optional(thinkingBudget, .integer(-1...1_000_000))
        return budget.map { [thinkingBudget: .integer(Int64($0))] } ?? [:]
    }

    static func options(_ options: [String: JSONValue], forOtherModel model: String) -> [String: JSONValue] {
        options.filter { $0.key != thinkingBudget }
    }

    static func encode(_ prompt: Prompt) -> [UInt8] {
        JSONWriter.members { json in
            let system = prompt.systemTexts
            if !system.isEmpty {
                json.key(literal: "systemInstruction")
                json.object { json in
                    json.key(literal: "parts")
                    json.texts(system)
                }
            }
            json.key(literal: "contents")
            json.array { json in
                for turn in prompt.turns {
                    json.object { json in
                        json.member("role", turn.role == .assistant ? "model" : "user")
                        json.key(literal: "parts")
                        json.texts(turn.texts)
                    }
                }
            }
        }
    }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.key(literal: "generationConfig")
        json.object { json in
            json.member("maxOutputTokens", call.maximumOutputTokens)
            if let temperature = call.temperature { json.member("temperature", temperature) }
            if let budget = call.options[thinkingBudget]?.integer {
                json.key(literal: "thinkingConfig")
                json.object { $0.member("thinkingBudget", budget) }
            }
        }
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) {
        ("/models/\(PercentEncoding.encode(call.model)):streamGenerateContent", [("alt", "sse")])
    }

    static func makeReader(model: String) -> any AnswerReader { EventStreamAnswerReader(GeminiFrames()) }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError { error(ErrorCode.object(in: body)) }

    /// The `error` of a body or of a frame.
    static func error(_ error: JSONValue?) -> ProviderError {
        // A wrong key is a 400 whose details name the reason.
        let details = error?["details"]?.elements ?? []
        let reasons = details.compactMap { $0["reason"]?.string }
        let isAboutKey = reasons.contains { $0.hasPrefix("API_KEY_") }
        let code = ErrorCode.first(of: ["status", "code"], in: error)
        let kind: ProviderError.Kind =
            switch code {
            case _ where isAboutKey: .key
            case "UNAUTHENTICATED": .key
            // The second comes with status 400 where Google offers no API, or none without billing.
            case "PERMISSION_DENIED", "FAILED_PRECONDITION": .access
            case "RESOURCE_EXHAUSTED": .rateLimit
            case "INVALID_ARGUMENT", "400": .badRequest
            default: .other
            }
        // `google.rpc.RetryInfo`: "17s", or a fraction of seconds.
        let delay = details.lazy.compactMap { $0["retryDelay"]?.string }.first { $0.hasSuffix("s") }
        let pause = delay.flatMap { Double($0.dropLast()) }.flatMap { RetryAfter.pause(seconds: $0) }
        return ProviderError(code: code, kind: kind, retryAfter: pause)
    }
}
