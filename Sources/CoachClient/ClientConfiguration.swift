extension CoachClient {
    /// The transport and time limits of a client. The defaults fit the gateway's.
    public struct Configuration: Sendable {
        /// Sends the requests.
        public var transport: Transport
        /// When failed requests are repeated.
        public var retry: RetryPolicy
        /// The time without a byte after which a stream is resumed on a new connection. The gateway sends a heartbeat every 10 s.
        public var idleTimeout: Duration
        /// Waits for the given time. Must throw when the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void
        /// Returns a random number in 0..<1, which varies the pauses.
        public var jitter: @Sendable () -> Double

        /// Defaults: URLSession, 3 attempts, 25 s idle timeout (two missed heartbeats and 5 s), the system's clock and random numbers.
        public init(
            transport: Transport = .urlSession(), retry: RetryPolicy = RetryPolicy(), idleTimeout: Duration = .seconds(25),
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) {
            self.transport = transport
            self.retry = retry
            self.idleTimeout = idleTimeout
            self.sleep = sleep
            self.jitter = jitter
        }
    }
}
