import Synchronization

/// A client's place at a turn. It holds no text, only a bell: a slow client costs nothing but its place.
public final class Follower: Sendable {
    /// Why the bell rang.
    public enum Signal: Sendable, Equatable {
        /// There is more text, or the end.
        case progressed
        /// The client sends no more, and may be gone: only a write shows which.
        case probe
        /// The server is going away: the client is to resume elsewhere.
        case handOver
        /// The client is gone.
        case gone
    }

    private struct State {
        var listener: (@Sendable (Signal) -> Void)?
        /// The last word, rung before anybody listened.
        var missed: Signal?
    }

    private let state = Mutex(State())
    /// Hears nothing before the end, and then all of it: a place in the second row, of which there are as many as are needed.
    public let isPatient: Bool

    /// A follower whose bell nobody hears yet.
    public init(isPatient: Bool = false) { self.isPatient = isPatient }

    /// From now on `listener` hears the bell, on the thread that rings it; at once when the client went, or was handed over, before.
    public func listen(_ listener: @escaping @Sendable (Signal) -> Void) {
        let missed = state.withLock { state in
            state.listener = listener
            return state.missed.take()
        }
        if let missed { listener(missed) }
    }

    /// Nobody listens any more.
    public func stopListening() { state.withLock { $0.listener = nil } }

    /// Rings. Progress that nobody hears is not remembered: who begins to listen looks at the turn first.
    public func ring(_ signal: Signal) {
        let listener = state.withLock { state in
            if state.listener == nil, signal == .gone || signal == .handOver { state.missed = signal }
            return state.listener
        }
        listener?(signal)
    }
}
