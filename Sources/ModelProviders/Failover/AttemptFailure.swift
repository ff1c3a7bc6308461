import CoachCore
import JSON
import TokenRelay

/// Why one attempt at one provider failed, and what follows from it.
struct AttemptFailure: Equatable {
    var fault: ModelFault
    /// Asking the same provider again may help.
    var mayRetry = false
    /// The pause that the provider has named before the next request.
    var retryAfter: Duration?
    /// How long the model gets no request: the time that the provider has named with a status that says that it cannot serve the model now.
    var cooldown: Duration?
    /// Whether the failure counts in the provider's health, not only for this request.
    var blamesProvider = false
    /// Whether the provider has refused the request itself. Such failures are counted apart and do not change the provider's health. Another provider
    /// is asked, because the reason is often the account, the region, the format or the moderation of one provider.
    var blamesRequest = false
    /// The request could not be recorded: no other one is made.
    var endsCall = false
    /// The provider bills the prompt, although it made no answer.
    var isBilled = false
    /// How long the key is not used, when the failure concerns it.
    var keyCooldown: Duration?
    /// The key is of no use for any request, so it is not sent during its cooldown. A 403 that does not say so may concern the model alone.
    var refusesKey = false
    /// The account, the key or the model is of no use: the model is set aside at once, and an operator is told.
    var needsOperator = false
    /// The provider has another key, with which the same request is sent at once.
    var hasAnotherKey = false
    /// How the call ends when no other provider is asked; nil: with the fault.
    var lastEnd: ModelEnd?

    /// How long the model is tried after the others, because the provider has asked for a pause.
    var pause: Duration? { needsOperator ? nil : keyCooldown ?? retryAfter.map { min($0, Self.longestPause) } }
}

extension AttemptFailure {
    /// No response. The same provider is called again only when the request was not sent: else it may have accepted it, and would bill it twice.
    init(_ failure: TransferFailure, at provider: String) {
        self.init(
            fault: ModelFault(kind: .refused, detail: "\(provider): \(failure)"),
            mayRetry: [.resolve, .connect, .connectTimeout].contains(failure.kind),
            blamesProvider: failure.kind != .request)
    }

    /// A response other than 200.
    ///
    /// A second try follows the rules of OpenAI's and Anthropic's SDKs: for the statuses 408, 409, 429 and from 500 on, unless `x-should-retry` says
    /// otherwise. There is none when the account has no money.
    init(_ head: TransferHead, _ error: ProviderError, at provider: String, now: Timestamp = .now) {
        let usually = [408, 409, 429].contains(head.status) || head.status >= 500 || error.kind == .temporary
        let isAboutMoney = head.status == 402 || error.kind == .money
        let isModerated = error.kind == .moderation
        let isAboutKey = [401, 403].contains(head.status) && !isModerated || [.key, .access].contains(error.kind)
        let pause = Self.pause(head, now) ?? error.retryAfter
        let isWanted =
            switch head["x-should-retry"] {
            case "true": true
            case "false": false
            default: usually
            }
        // Its name is wrong, or the provider has retired it. A repetition that is wanted may still find it.
        let isModelMissing =
            ([404, 410].contains(head.status) || error.kind == .model) && !isWanted && !isModerated && !isAboutMoney && !isAboutKey
        // A pause that cannot be read may be a long one, so it forbids a second try.
        let isUnclear = pause == nil && head["retry-after"] != nil
        self.init(
            fault: ModelFault(kind: .refused, detail: "\(provider): HTTP \(head.status)\(error.code.map { " \($0)" } ?? "")"),
            mayRetry: isWanted && !isAboutMoney && !isAboutKey && !isUnclear, retryAfter: pause,
            // A status below 400 is no error of the request. The address does not belong to a model's server, or not any more.
            blamesProvider: usually || isAboutMoney || isAboutKey || isModelMissing || head.status < 400,
            blamesRequest: (isModerated || [400, 413, 422].contains(head.status)) && !isWanted && !isAboutMoney && !isAboutKey
                && !isModelMissing,
            isBilled: error.isBilled, needsOperator: isAboutMoney || isAboutKey || isModelMissing)
        if !needsOperator, [429, 503, 529].contains(head.status) {
            cooldown = pause.map { min($0, head.status == 429 ? Self.longestModelCooldown : Self.longestPause) }
        }
        if !needsOperator { fault.retryAfter = (cooldown ?? pause.map { min($0, Self.longestPause) })?.secondsRoundedUp }
        if isAboutMoney || isAboutKey {
            keyCooldown = Self.refusedCooldown
            refusesKey = isAboutMoney || head.status == 401 || error.kind == .key
        } else if head.status == 429 || error.kind == .rateLimit {
            keyCooldown = min(max(pause ?? Self.rateLimitCooldown, Self.shortestCooldown), Self.longestCooldown)
        }
    }

    /// An answer that broke after status 200. An error about money, the key, its rate, the model or the request has the effect of a response with its status.
    init(_ fault: ModelFault, about kind: ProviderError.Kind, hasText: Bool) {
        let isAboutKey = [.money, .key, .access].contains(kind)
        let needsOperator = isAboutKey || kind == .model
        let isOfRequest = kind == .badRequest || kind == .moderation
        self.init(
            fault: fault, blamesProvider: !isOfRequest && (!hasText || needsOperator), blamesRequest: isOfRequest,
            needsOperator: needsOperator)
        refusesKey = kind == .money || kind == .key
        if isAboutKey { keyCooldown = Self.refusedCooldown } else if kind == .rateLimit { keyCooldown = Self.rateLimitCooldown }
    }

    /// The cooldown of a key that was refused. A call tries the key afterwards: the provider may have erred, or an operator has mended the account.
    private static let refusedCooldown = Duration.seconds(10)
    /// The cooldown of a key that met a rate limit, when the provider names no time.
    private static let rateLimitCooldown = Duration.seconds(5)
    /// The bounds of that cooldown when the provider names a time.
    private static let shortestCooldown = Duration.seconds(1)
    private static let longestCooldown = Duration.seconds(3600)
    /// The longest time without a request to a model that met a rate limit. A wrong value of the provider must not stop its use for an hour.
    private static let longestModelCooldown = Duration.seconds(300)
    /// The longest pause of a model for another reason: one response of an overloaded server says little about the next hour.
    private static let longestPause = Duration.seconds(60)

    private static func pause(_ head: TransferHead, _ now: Timestamp) -> Duration? {
        if let milliseconds = head["retry-after-ms"].flatMap(Double.init),
            let pause = RetryAfter.pause(seconds: milliseconds / 1000)
        {
            return pause
        }
        return head["retry-after"].flatMap { RetryAfter.pause($0, sent: head["date"], now: now) }
    }
}

extension Duration {
    var secondsRoundedUp: Int { Int((self / .seconds(1)).rounded(.up)) }
}
