/// Counts the failed connections of one request and decides whether to connect again.
struct RetryState {
    enum Decision: Equatable {
        case retry(after: Duration)
        case giveUp(CoachError)
    }

    private let policy: RetryPolicy
    /// Consecutive connections that delivered nothing new.
    private var failures = 0
    private var hasProgress = false
    private var hasRenewedToken = false

    init(policy: RetryPolicy) { self.policy = policy }

    /// The gateway accepted the request, and with it the token.
    mutating func accepted() { hasRenewedToken = false }

    /// The connection delivered something new.
    mutating func madeProgress() { hasProgress = true }

    /// The gateway answered with an error. An expired token is renewed once without a pause, which does not count as a failure.
    mutating func rejected(_ error: CoachError, jitter: Double) -> Decision {
        if error.code == .gateway(.tokenExpired), !hasRenewedToken {
            hasRenewedToken = true
            return .retry(after: .zero)
        }
        return error.retryable ? failed(error, jitter) : .giveUp(error)
    }

    /// There was no response, or an incomplete one.
    mutating func lost(_ error: CoachError, jitter: Double) -> Decision {
        failed(error, jitter)
    }

    private mutating func failed(_ error: CoachError, _ jitter: Double) -> Decision {
        failures = hasProgress ? 0 : failures + 1
        hasProgress = false
        guard let pause = policy.pause(afterFailures: failures, retryAfter: error.retryAfter, jitter: jitter) else {
            return .giveUp(error)
        }
        return .retry(after: pause)
    }
}
