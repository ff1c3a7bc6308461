import Synchronization

/// A client that waits for news of a turn. It holds no text, only a bell: a slow client costs nothing but its place.
public final class Follower: Sendable {
    /// Why the bell rang.
    public enum Signal: Sendable, Equatable {
        /// There is more text, or the end.
        case progressed
        /// Nothing happened for the heartbeat interval.
        case heartbeat
        /// The client is gone, or the server hands its clients over.
        case leave
    }

    private struct State {
        var pending: Signal?
        var sleeper: CheckedContinuation<Signal, Never>?
    }

    private let state = Mutex(State())

    /// A follower with a silent bell.
    public init() {}

    /// Suspends until the bell rings; returns at once when it rang since the last call. One caller at a time.
    public func next() async -> Signal {
        await withCheckedContinuation { continuation in
            let ready: Signal? = state.withLock { state in
                if let signal = state.pending {
                    if signal != .leave { state.pending = nil }
                    return signal
                }
                state.sleeper = continuation
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    /// Rings. A `leave` outlasts everything; progress outranks a heartbeat.
    public func ring(_ signal: Signal) {
        let sleeper: CheckedContinuation<Signal, Never>? = state.withLock { state in
            if let sleeper = state.sleeper {
                state.sleeper = nil
                if signal == .leave { state.pending = .leave }
                return sleeper
            }
            switch (state.pending, signal) {
            case (.leave, _), (.progressed, .heartbeat): break
            default: state.pending = signal
            }
            return nil
        }
        sleeper?.resume(returning: signal)
    }
}
