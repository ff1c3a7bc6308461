/// Counts the connections of one request, and decides whether there is another.
struct Attempts {
    enum Verdict: Equatable {
        case again(after: Duration)
        case giveUp(CoachError)
    }

    private let policy: RetryPolicy
    /// Connections in a row that brought nothing new.
    private var failures = 0
    private var hasProgress = false
    private var hasAskedForNewToken = false

    init(policy: RetryPolicy) { self.policy = policy }

    /// The gateway accepted the request, and so the token.
    mutating func opened() { hasAskedForNewToken = false }

    /// This connection brought something new.
    mutating func progress() { hasProgress = true }

    /// The gateway said no. An expired token is replaced once, at once; that is no failure.
    mutating func refused(_ error: CoachError, mayRepeat: Bool, jitter: Double) -> Verdict {
        if error.code == .gateway(.tokenExpired), !hasAskedForNewToken {
            hasAskedForNewToken = true
            return .again(after: .zero)
        }
        return error.retryable ? failed(error, mayRepeat, jitter) : .giveUp(error)
    }

    /// There was no answer, or not all of it.
    mutating func lost(_ error: CoachError, mayRepeat: Bool, jitter: Double) -> Verdict {
        failed(error, mayRepeat, jitter)
    }

    private mutating func failed(_ error: CoachError, _ mayRepeat: Bool, _ jitter: Double) -> Verdict {
        failures = hasProgress ? 0 : failures + 1
        hasProgress = false
        guard mayRepeat, let pause = policy.pause(afterFailures: failures, retryAfter: error.retryAfter, jitter: jitter) else {
            return .giveUp(error)
        }
        return .again(after: pause)
    }
}
