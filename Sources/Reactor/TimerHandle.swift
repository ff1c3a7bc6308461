/// A timer that has been set. Belongs to the reactor's thread.
public struct TimerHandle {
    private let id: TimerHeap<() -> Void>.ID
    private unowned let loop: Loop

    init(id: TimerHeap<() -> Void>.ID, loop: Loop) {
        self.id = id
        self.loop = loop
    }

    /// Takes the timer back. Harmless when it has fired or was cancelled before.
    public func cancel() {
        loop.timers.cancel(id)
    }
}
