/// A timer set by `Reactor.schedule`, to cancel it. Dropping the handle does not cancel. Use only on the reactor's thread, and not after
/// the reactor is freed.
public struct TimerHandle {
    private let id: TimerHeap<() -> Void>.ID
    private unowned let loop: Loop

    init(id: TimerHeap<() -> Void>.ID, loop: Loop) {
        self.id = id
        self.loop = loop
    }

    /// Cancels the timer. No effect when it has fired or was cancelled before.
    public func cancel() {
        loop.timers.cancel(id)
    }
}
