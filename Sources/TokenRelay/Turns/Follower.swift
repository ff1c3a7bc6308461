import Synchronization

/// A client that waits for news of a turn. It holds no text, only a bell: a slow client costs nothing but its place.
public final class Follower: Sendable {
    /// Why the bell rang.
    public enum Signal: Sendable, Equatable {
        /// There is more text, or the end.
        case progressed
        /// Nothing happened for the heartbeat interval.
        case heartbeat
        /// The server is going away: the client is to resume elsewhere.
        case handOver
        /// The client is gone.
        case gone

        /// A bell that rings for good.
        var isFinal: Bool { self == .handOver || self == .gone }
    }

    private struct State {
        var pending: Signal?
        var sleeper: CheckedContinuation<Signal, Never>?
    }

    private let state = Mutex(State())
    /// Hears nothing before the end, and then all of it: a place in the second row, of which there are as many as are needed.
    public let isPatient: Bool

    /// A follower with a silent bell.
    public init(isPatient: Bool = false) { self.isPatient = isPatient }

    /// Suspends until the bell rings; returns at once when it rang since the last call. One caller at a time.
    public func next() async -> Signal {
        await withCheckedContinuation { continuation in
            let ready: Signal? = state.withLock { state in
                if let signal = state.pending {
                    if !signal.isFinal { state.pending = nil }
                    return signal
                }
                state.sleeper = continuation
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    /// Rings. A final signal outlasts everything; progress outranks a heartbeat.
    public func ring(_ signal: Signal) {
        let sleeper: CheckedContinuation<Signal, Never>? = state.withLock { state in
            if let sleeper = state.sleeper {
                state.sleeper = nil
                if signal.isFinal { state.pending = signal }
                return sleeper
            }
            let outranked = state.pending?.isFinal ?? false || (state.pending == .progressed && signal == .heartbeat)
            if !outranked { state.pending = signal }
            return nil
        }
        sleeper?.resume(returning: signal)
    }
}
