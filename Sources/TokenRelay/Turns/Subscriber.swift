import Synchronization

/// Receives a subscriber's signals, on the thread that signals. No closure, as that would be one more object for each token to touch: see
/// `ReadinessHandler`.
public protocol SubscriberListener: Sendable {
    func signalled(_ signal: Subscriber.Signal)
}

/// A client's subscription to a turn. It holds no text: a slow client costs nothing but this.
public final class Subscriber: Sendable {
    /// What has changed.
    public enum Signal: Sendable, Equatable {
        /// There is more text, or the end.
        case progressed
        /// The stream ends before the turn does: the client is to resume elsewhere.
        case handOver
    }

    private struct State {
        var listener: (any SubscriberListener)?
        /// Signalled before there was a listener.
        var wasHandedOver = false
    }

    private let state = Mutex(State())
    /// Delivered only at the end; has a separate, higher limit.
    public let deliversAtEnd: Bool

    /// A subscriber without a listener.
    public init(deliversAtEnd: Bool = false) { self.deliversAtEnd = deliversAtEnd }

    /// Calls `listener` from now on; at once when the client was handed over before.
    public func listen(_ listener: any SubscriberListener) {
        let wasHandedOver = state.withLock { state in
            state.listener = listener
            return state.wasHandedOver
        }
        if wasHandedOver { listener.signalled(.handOver) }
    }

    /// Removes the listener.
    public func stopListening() { state.withLock { $0.listener = nil } }

    /// Signals the listener. Progress without a listener is not remembered: a new listener looks at the turn first.
    public func notify(_ signal: Signal) {
        let listener = state.withLock { state in
            if signal == .handOver { state.wasHandedOver = true }
            return state.listener
        }
        listener?.signalled(signal)
    }
}

/// The subscribers of a turn, in the order in which they came. Nearly always there is one, and it stands in the turn itself.
struct Subscribers: Sendable {
    private var first: Subscriber?
    private var others: [Subscriber] = []

    var isEmpty: Bool { first == nil }

    /// How many are delivered at the end only, or piece by piece.
    func count(deliveringAtEnd deliversAtEnd: Bool) -> Int {
        (first?.deliversAtEnd == deliversAtEnd ? 1 : 0) + others.count { $0.deliversAtEnd == deliversAtEnd }
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

    /// Signals those that are delivered piece by piece.
    func notifyLive() {
        if let first, !first.deliversAtEnd { first.notify(.progressed) }
        for subscriber in others where !subscriber.deliversAtEnd { subscriber.notify(.progressed) }
    }
}
