import JSON

/// `{"error": {"message", "type", "param", "code"}}` in the body of a response, and in a frame of an answer.
enum OpenAIError {
    private static let members = ["code", "type"]

    private static let money: Set<String> = [
        "insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active",
        // OpenRouter's frames have the status as their code.
        "402",
    ]
    private static let key: Set<String> = [
        "invalid_api_key", "invalid_authentication", "authentication_error", "account_deactivated", "401",
    ]
    /// The second is Groq's, with status 400.
    private static let model: Set<String> = ["model_not_found", "model_decommissioned", "404", "410"]
    private static let rateLimit: Set<String> = ["rate_limit_exceeded", "rate_limit_error", "429"]
    private static let badRequest: Set<String> = [
        "invalid_prompt", "content_policy_violation", "invalid_request_error", "context_length_exceeded",
        // vLLM and llama.cpp, whose code is the status.
        "BadRequestError", "exceed_context_size_error", "400", "413", "422",
    ]

    static func read(_ body: [UInt8]) -> ProviderError { read(ErrorCode.object(in: body)) }

    static func read(_ error: JSONValue?) -> ProviderError {
        let first = read(code: ErrorCode.first(of: members, in: error))
        if isModeration(error) { return ProviderError(code: first.code, kind: .moderation) }
        // `{"type": "invalid_request_error", "code": "unsupported_value"}`
        guard first.kind == .other, read(code: error?["type"]?.string).kind == .badRequest else { return first }
        return ProviderError(code: first.code, kind: .badRequest)
    }

    /// OpenRouter names the reasons for which it flagged the prompt. Without them its 403 is about the key.
    private static func isModeration(_ error: JSONValue?) -> Bool {
        let metadata = error?["metadata"]
        return metadata?["reasons"]?.elements != nil || metadata?["flagged_input"] != nil
    }

    static func read(code: String?) -> ProviderError {
        let kind: ProviderError.Kind =
            switch code {
            case let code? where money.contains(code): .money
            case let code? where key.contains(code): .key
            case "403": .access
            case let code? where model.contains(code): .model
            case let code? where rateLimit.contains(code): .rateLimit
            // Azure, and others whose moderation sees an answer that has begun.
            case "content_filter": .moderation
            case let code? where badRequest.contains(code): .badRequest
            default: .other
            }
        return ProviderError(code: code, kind: kind)
    }
}
