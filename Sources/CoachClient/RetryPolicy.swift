/// How often and how fast a failed request is repeated.
public struct RetryPolicy: Sendable {
    /// Connections in a row that may bring nothing new, the first included.
    public var attempts: Int
    /// Before the second attempt; doubles with each further one.
    public var firstPause: Duration
    /// The longest pause of our own choosing.
    public var longestPause: Duration
    /// A server that asks for a longer pause than this is reported to the app instead of waited for.
    public var longestRetryAfter: Duration

    /// 3 attempts, 1 s doubling up to 10 s, and up to 60 s when the server asks for it.
    public init(
        attempts: Int = 3, firstPause: Duration = .seconds(1), longestPause: Duration = .seconds(10),
        longestRetryAfter: Duration = .seconds(60)
    ) {
        self.attempts = attempts
        self.firstPause = firstPause
        self.longestPause = longestPause
        self.longestRetryAfter = longestRetryAfter
    }

    /// The pause after `failures` connections in a row that brought nothing new; nil when it is time to give up.
    ///
    /// - Parameters:
    ///   - failures: 0 for a connection that was lost after it had brought something.
    ///   - retryAfter: what the server asked for.
    ///   - jitter: 0..<1. Shortens a pause of our own by up to a half, so that the clients of a restarted server do not come
    ///     back all at once; lengthens one that the server asked for by up to a tenth.
    func pause(afterFailures failures: Int, retryAfter: Duration?, jitter: Double) -> Duration? {
        guard failures < attempts else { return nil }
        let doublings = min(max(failures - 1, 0), 30)
        let own = min(firstPause * (1 << doublings), longestPause) * (1 - jitter / 2)
        guard let retryAfter else { return own }
        guard retryAfter <= longestRetryAfter else { return nil }
        return max(own, retryAfter * (1 + jitter / 10))
    }
}
