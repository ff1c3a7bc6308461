import CoachCore
import JSON
import TokenRelay

/// AWS Bedrock, `converse-stream`. Requests carry a Bedrock API key as a bearer token, or a signature made with an access key: one of the provider's
/// keys, or that of its settings.
enum BedrockConverse: WireFormat {
    static let name = "bedrock"
    static let mediaType = "application/vnd.amazon.eventstream"
    static let reserved: Set<String> = ["messages", "system", "inferenceConfig"]
    static let settings = [
        DialectSetting(name: "region", isRequired: true), DialectSetting(name: "access_key_id", isSecret: true),
        DialectSetting(name: "secret_access_key", isSecret: true), DialectSetting(name: "session_token", isSecret: true),
    ]

    private static let promptCache = "prompt_cache"
    private static let modelFamily = "model_family"

    static func options(_ json: JSONReader) throws(JSONFinding) -> [String: JSONValue] {
        var options: [String: JSONValue] = [:]
        let marks: Bool? = try json.optional(promptCache)
        options[promptCache] = marks.map { JSONValue.bool($0) }
        options[modelFamily] = try json.optional(modelFamily, .text(1...200)).map { JSONValue.string($0) }
        return options
    }

    /// The entry of a model may state it, because the ARN of an inference profile does not contain it.
    static func family(of model: String, options: [String: JSONValue]) -> String { options[modelFamily]?.string ?? model }

    /// The parts of a model's id, or of the ARN that ends with it: `eu`, `openai` and `gpt-…` of `eu.openai.gpt-…`.
    static func parts(of model: String) -> [Substring] { model.split { $0 == "." || $0 == "/" } }

    /// Claude and Nova take cache points; other models, and older Claudes, refuse requests with them.
    static func takesCacheMarks(_ model: String, options: [String: JSONValue]) -> Bool {
        options[promptCache]?.bool
            ?? parts(of: family(of: model, options: options)).contains { $0 == "anthropic" || $0.hasPrefix("nova") }
    }

    static func encode(_ prompt: Prompt) -> [UInt8] { encode(prompt, hasCachePoints: false) }

    static func encodeWithCacheMarks(_ prompt: Prompt) -> [UInt8] { encode(prompt, hasCachePoints: true) }

    private static func encode(_ prompt: Prompt, hasCachePoints: Bool) -> [UInt8] {
        JSONWriter.members { json in
            let system = prompt.systemTexts
            if !system.isEmpty {
                json.key(literal: "system")
                // The first text is the same for all turns of a persona.
                write(system, cachePointAfter: hasCachePoints ? 0 : nil, to: &json)
            }
            json.key(literal: "messages")
            json.array { json in
                let turns = prompt.turns
                for (index, turn) in turns.enumerated() {
                    json.object { json in
                        json.member("role", turn.role.rawValue)
                        json.key(literal: "content")
                        // The next turn of the conversation begins with everything up to the newest message.
                        let isLast = hasCachePoints && index == turns.count - 1
                        write(turn.texts, cachePointAfter: isLast ? turn.texts.count - 1 : nil, to: &json)
                    }
                }
            }
        }
    }

    private static func write(_ texts: [String], cachePointAfter place: Int?, to json: inout JSONWriter) {
        json.array { json in
            for (index, text) in texts.enumerated() {
                json.object { $0.member("text", text) }
                guard index == place else { continue }
                json.object { json in
                    json.key(literal: "cachePoint")
                    json.object { $0.member("type", "default") }
                }
            }
        }
    }

    static func write(_ call: DialectCall, to json: inout JSONWriter) {
        json.key(literal: "inferenceConfig")
        json.object { json in
            json.member("maxTokens", call.maximumOutputTokens)
            if let temperature = call.temperature { json.member("temperature", min(temperature, 1)) }
        }
    }

    static func target(_ call: DialectCall) -> (path: String, query: [(name: String, value: String)]) {
        ("/model/\(PercentEncoding.encode(call.model))/converse-stream", [])
    }

    static func key(in settings: [String: String]) -> String? { AccessKey(settings: settings)?.text }

    static func sign(_ request: inout TransferRequest, _ call: DialectCall, key: String?, at now: Timestamp) -> Bool {
        guard let accessKey = key.flatMap(AccessKey.init), let region = call.settings["region"] else { return false }
        let signature = SignatureV4(accessKey: accessKey, region: region, service: "bedrock")
        request.headers += signature.headers(for: request, at: now)
        return true
    }

    /// A Bedrock API key has no colon. A key with a colon is an access key, or a mistaken one; neither must be sent as a bearer token.
    static func isKey(_ key: String) -> Bool { !key.contains(":") || AccessKey(key) != nil }

    static func makeReader(model: String) -> any AnswerReader { BedrockAnswerReader(model: model) }

    static func error(_ head: TransferHead, body: [UInt8]) -> ProviderError {
        // `ThrottlingException:http://internal.amazon.com/…`
        let type = head["x-amzn-errortype"].map { String($0.prefix { $0 != ":" }) }
        let code = ErrorCode.validated(type) ?? ErrorCode.first(of: ["__type", "code"], in: ErrorCode.object(in: body))
        return head.status == 424 ? ProviderError(code: code, kind: .temporary) : error(code: code)
    }

    /// The exception of a response or of an answer's message.
    static func error(code: String?) -> ProviderError {
        // `AccessDeniedException` in a response is `accessDeniedException` in an answer.
        let kind: ProviderError.Kind =
            switch code?.lowercased() {
            // Each comes with status 403; only the first may concern the model alone.
            case "accessdeniedexception": .access
            case "unrecognizedclientexception", "invalidclienttokenid", "expiredtokenexception", "invalidsignatureexception",
                "incompletesignature", "missingauthenticationtoken":
                .key
            case "throttlingexception": .rateLimit
            case "validationexception": .badRequest
            default: .other
            }
        return ProviderError(code: code, kind: kind)
    }
}
