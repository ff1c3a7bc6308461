extension CoachClient {
    /// How a client behaves. The defaults fit the gateway's contract.
    public struct Configuration: Sendable {
        /// How requests are sent.
        public var transport: Transport
        /// How often and how fast they are repeated.
        public var retry: RetryPolicy
        /// A stream that is silent for longer is taken up on a new connection. The gateway says something every 10 s.
        public var longestSilence: Duration
        /// Waits. Must throw when the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void
        /// A random number in 0..<1, for pauses.
        public var jitter: @Sendable () -> Double

        /// URLSession, 3 attempts, 25 s, the system's clock and chance.
        public init(
            transport: Transport = .urlSession(), retry: RetryPolicy = RetryPolicy(), longestSilence: Duration = .seconds(25),
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
        ) {
            self.transport = transport
            self.retry = retry
            self.longestSilence = longestSilence
            self.sleep = sleep
            self.jitter = jitter
        }
    }
}
