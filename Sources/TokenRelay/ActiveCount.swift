import Synchronization

/// A counter of active objects, such as turns or writers, on which tasks can wait until it is zero. Any thread.
final class ActiveCount: Sendable {
    private struct State {
        var count = 0
        var waiting: [AsyncStream<Never>.Continuation] = []
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    func increment() { state.withLock { $0.count += 1 } }

    func decrement() {
        let waiting: [AsyncStream<Never>.Continuation] = state.withLock { state in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }

    /// Suspends until the count is zero, or the task is cancelled.
    func drained() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        state.withLock { state in
            if state.count > 0 { state.waiting.append(continuation) } else { continuation.finish() }
        }
        for await _ in stream {}
    }
}
