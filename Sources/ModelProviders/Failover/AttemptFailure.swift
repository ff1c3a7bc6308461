import CoachCore
import TokenRelay

/// Why one attempt at one provider failed, and what follows from it.
struct AttemptFailure: Equatable {
    var fault: ModelFault
    /// Asking the same provider again may help.
    var mayRetry = false
    /// The provider named this pause before the next request.
    var retryAfter: Duration?
    /// It counts against the provider's health, not only against this request.
    var blamesProvider = false
}

extension AttemptFailure {
    /// No response. The same provider is called again only when the request was not sent: else it may have accepted it, and would bill it twice.
    init(_ failure: TransferFailure, at provider: String) {
        self.init(
            fault: ModelFault(kind: .refused, detail: "\(provider): \(failure)"),
            mayRetry: [.resolve, .connect, .connectTimeout].contains(failure.kind),
            blamesProvider: failure.kind != .request)
    }

    /// A response other than 200; `code` is the provider's own.
    ///
    /// What is worth a second try: the rules of OpenAI's and Anthropic's SDKs. Status 408, 409, 429 and from 500 on; `x-should-retry`
    /// overrides that; a lack of money is never worth one.
    init(_ head: TransferHead, code: String?, at provider: String) {
        let usually = [408, 409, 429].contains(head.status) || head.status >= 500
        let isAboutMoney = head.status == 402 || code.map(Self.moneyCodes.contains) == true
        let pause = Self.pause(head)
        let isWanted =
            switch head["x-should-retry"] {
            case "true": true
            case "false": false
            default: usually
            }
        // A pause that is not a number is a date: further away than a second try may begin.
        let isDated = pause == nil && head["retry-after"] != nil
        self.init(
            fault: ModelFault(kind: .refused, detail: "\(provider): HTTP \(head.status)\(code.map { " \($0)" } ?? "")"),
            mayRetry: isWanted && !isAboutMoney && !isDated, retryAfter: pause,
            blamesProvider: usually || isAboutMoney || [401, 403].contains(head.status))
    }

    private static let moneyCodes: Set<String> = [
        "insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active", "billing_error",
    ]

    private static func pause(_ head: TransferHead) -> Duration? {
        if let milliseconds = head["retry-after-ms"].flatMap(Double.init), isSane(milliseconds / 1000) {
            return .seconds(milliseconds / 1000)
        }
        if let seconds = head["retry-after"].flatMap(Double.init), isSane(seconds) { return .seconds(seconds) }
        return nil
    }

    private static func isSane(_ seconds: Double) -> Bool { (0...1_000_000).contains(seconds) }
}
