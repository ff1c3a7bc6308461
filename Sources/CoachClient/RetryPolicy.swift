/// When a failed request is repeated: exponential backoff with jitter.
public struct RetryPolicy: Sendable {
    /// The most consecutive connections that deliver nothing new, including the first.
    public var attempts: Int
    /// The pause before the second attempt. Doubles with each further attempt.
    public var initialBackoff: Duration
    /// The longest pause that does not come from `Retry-After`.
    public var maximumBackoff: Duration
    /// A longer `Retry-After` is reported to the app as an error instead of waited for.
    public var maximumRetryAfter: Duration

    /// Defaults: 3 attempts, 1 s doubling up to 10 s, `Retry-After` up to 60 s.
    public init(
        attempts: Int = 3, initialBackoff: Duration = .seconds(1), maximumBackoff: Duration = .seconds(10),
        maximumRetryAfter: Duration = .seconds(60)
    ) {
        self.attempts = attempts
        self.initialBackoff = initialBackoff
        self.maximumBackoff = maximumBackoff
        self.maximumRetryAfter = maximumRetryAfter
    }

    /// The pause after `failures` consecutive connections that delivered nothing new; nil when no attempt is left.
    ///
    /// - Parameters:
    ///   - failures: 0 after a connection that was lost but had delivered something new.
    ///   - retryAfter: `Retry-After` of the response.
    ///   - jitter: 0..<1. Shortens the backoff by up to a half and lengthens `retryAfter` by up to a tenth, so that the clients of a
    ///     restarted server do not reconnect all at once.
    func pause(afterFailures failures: Int, retryAfter: Duration?, jitter: Double) -> Duration? {
        guard failures < attempts else { return nil }
        let doublings = min(max(failures - 1, 0), 30)
        let backoff = min(initialBackoff * (1 << doublings), maximumBackoff) * (1 - jitter / 2)
        guard let retryAfter else { return backoff }
        guard retryAfter <= maximumRetryAfter else { return nil }
        return max(backoff, retryAfter * (1 + jitter / 10))
    }
}
