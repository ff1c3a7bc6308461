import Reactor

/// The writers to the subscribers of turns. They run on the reactor's thread, the one on which the model's text arrives: from a provider's socket to a
/// client's there is no hop between threads, no task and no queue.
public final class StreamLoop: Sendable {
    private let driver: ReactorBound<StreamLoopDriver>
    private let active: ActiveCount

    /// No writer yet.
    public init(reactor: Reactor, limits: StreamLimits = StreamLimits()) {
        active = ActiveCount()
        driver = ReactorBound(StreamLoopDriver(reactor: reactor, limits: limits, active: active), to: reactor)
    }

    /// Writers that are open, or about to be; any thread.
    public var count: Int { active.count }

    /// Suspends until there is no writer, or the task is cancelled.
    public func drained() async { await active.drained() }

    /// Opens a writer; any thread. It ends by the turn's end, the subscriber's signal, or its client.
    public func open(_ request: StreamRequest) {
        active.increment()
        driver.submit { $0.open(request) }
    }

    /// Tells every client to resume elsewhere, those of writers that are opened later too; any thread. Idempotent.
    public func handOver() {
        driver.submit { $0.handOver() }
    }
}
