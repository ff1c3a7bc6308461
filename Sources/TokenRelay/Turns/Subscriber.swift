import Synchronization

/// Receives a subscriber's signals, on the thread that signals. A protocol and not a closure, because a closure's context would be one more
/// memory access for each token (see `ReadinessHandler`).
public protocol SubscriberListener: Sendable {
    func signalled(_ signal: Subscriber.Signal)
}

/// One reader of a turn, such as a client's stream. It only forwards signals and holds no text, so a slow reader needs no memory for the
/// text that it has not read. Any thread.
public final class Subscriber: Sendable {
    public enum Signal: Sendable, Equatable {
        /// More text, or the end, is available.
        case progressed
        /// The stream must end before the turn, and the client must resume elsewhere.
        case handOver
    }

    private struct State {
        var listener: (any SubscriberListener)?
        /// Whether `handOver` was signalled. Remembered for a listener that comes later.
        var wasHandedOver = false
    }

    private let state = Mutex(State())
    /// Whether its client's request began the turn: it counts against no limit.
    public let beganTurn: Bool
    /// Delivered only at the end; has a separate, higher limit.
    public let deliversAtEnd: Bool

    public init(beganTurn: Bool = false, deliversAtEnd: Bool = false) {
        self.beganTurn = beganTurn
        self.deliversAtEnd = deliversAtEnd
    }

    /// Sets the listener. If `handOver` was signalled before, it is signalled again at once.
    public func listen(_ listener: any SubscriberListener) {
        let wasHandedOver = state.withLock { state in
            state.listener = listener
            return state.wasHandedOver
        }
        if wasHandedOver { listener.signalled(.handOver) }
    }

    public func removeListener() { state.withLock { $0.listener = nil } }

    /// Signals the listener. `progressed` without a listener is not remembered: a listener must read the turn after `listen`.
    public func notify(_ signal: Signal) {
        // Without a variable, whose use would copy the existential a second time: this runs for each token.
        state.withLock { state -> (any SubscriberListener)? in
            if signal == .handOver { state.wasHandedOver = true }
            return state.listener
        }?.signalled(signal)
    }
}

/// The subscribers of a turn, in the order in which they were added. The first one is stored inline, because nearly always there is only
/// one.
struct Subscribers: Sendable {
    private var first: Subscriber?
    private var others: [Subscriber] = []

    var isEmpty: Bool { first == nil }

    /// The number of subscribers with this `deliversAtEnd`, without the one that began the turn.
    func additionalSubscribers(deliveringAtEnd deliversAtEnd: Bool) -> Int {
        ([first].compactMap(\.self) + others).count { !$0.beganTurn && $0.deliversAtEnd == deliversAtEnd }
    }

    mutating func append(_ subscriber: Subscriber) {
        if first == nil { first = subscriber } else { others.append(subscriber) }
    }

    mutating func remove(_ subscriber: Subscriber) {
        if first === subscriber {
            first = others.isEmpty ? nil : others.removeFirst()
        } else {
            others.removeAll { $0 === subscriber }
        }
    }

    func notify(_ signal: Subscriber.Signal) {
        first?.notify(signal)
        for subscriber in others { subscriber.notify(signal) }
    }

    /// Signals progress to all subscribers without `deliversAtEnd`.
    func notifyLive() {
        if let first, !first.deliversAtEnd { first.notify(.progressed) }
        for subscriber in others where !subscriber.deliversAtEnd { subscriber.notify(.progressed) }
    }
}
