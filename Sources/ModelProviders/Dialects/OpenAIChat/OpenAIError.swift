import JSON

/// `{"error": {"message", "type", "param", "code"}}` in the body of a response.
enum OpenAIError {
    static let members = ["code", "type"]

    private static let money: Set<String> = [
        "insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active",
    ]

    static func read(_ body: [UInt8]) -> ProviderError {
        let code = ErrorCode.first(of: members, in: ErrorCode.object(in: body))
        return ProviderError(code: code, kind: code.map(money.contains) == true ? .money : .other)
    }
}
