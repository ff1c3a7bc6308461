/// Spaces requests of one instance to a server with a rate limit.
actor RequestPacer {
    private let interval: Duration
    private var next = ContinuousClock.now

    /// `interval`: between two requests, at least.
    init(interval: Duration) { self.interval = interval }

    /// Until the next request may leave, in the order of calls.
    func wait() async throws {
        let moment = max(next, .now)
        next = moment + interval
        try await Task.sleep(until: moment, clock: .continuous)
    }

    /// No request is sent for this long, as the server demanded.
    func hold(for pause: Duration) { next = max(next, .now + pause) }
}
