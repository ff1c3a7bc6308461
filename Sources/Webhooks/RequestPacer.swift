/// Spaces requests of one instance: those to a server with a rate limit, and those that must leave time for other work.
actor RequestPacer {
    private let interval: Duration
    /// How much earlier than at even intervals a request may start, so that a burst need not wait.
    private let tolerance: Duration
    /// When the next request is due at even intervals.
    private var due = ContinuousClock.now

    /// - Parameters:
    ///   - interval: between two requests, on average.
    ///   - burst: so many may start at once after a pause.
    init(interval: Duration, burst: Int = 1) {
        self.interval = interval
        tolerance = interval * (burst - 1)
    }

    /// Until the next request may start, in the order of calls.
    func wait() async throws { _ = try await wait(atMost: nil) }

    /// The same, but false at once, and without effect, when that is later than `limit` from now.
    func wait(atMost limit: Duration?) async throws -> Bool {
        let now = ContinuousClock.now
        let moment = max(due, now)
        let pause = moment - tolerance - now
        if let limit, pause > limit { return false }
        due = moment + interval
        if pause > .zero { try await Task.sleep(until: now + pause, clock: .continuous) }
        return true
    }

    /// No request starts for this long, as the server demanded.
    func hold(for pause: Duration) { due = max(due, .now + pause + tolerance) }
}
