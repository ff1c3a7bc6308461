/// Spaces the requests of one instance to a server with a rate limit.
actor RequestPacer {
    private let interval: Duration
    /// When the next request may start.
    private var due = ContinuousClock.now

    /// - Parameter interval: between two requests, at least.
    init(interval: Duration) { self.interval = interval }

    /// Until the next request may start, in the order of calls.
    func wait() async throws {
        let moment = max(due, .now)
        due = moment + interval
        try await Task.sleep(until: moment, clock: .continuous)
    }

    /// No request starts for this long, as the server demanded.
    func hold(for pause: Duration) { due = max(due, .now + pause) }
}
