import Synchronization

/// Who hears a follower's bell, on the thread that rings it. An object and not a closure: see `ReadinessHandler`.
public protocol SubscriberListener: AnyObject, Sendable {
    func signalled(_ signal: Subscriber.Signal)
}

/// A client's place at a turn. It holds no text, only a bell: a slow client costs nothing but its place.
public final class Subscriber: Sendable {
    /// Why the bell rang.
    public enum Signal: Sendable, Equatable {
        /// There is more text, or the end.
        case progressed
        /// The turn is not told to its end here: the client is to resume elsewhere.
        case handOver
    }

    private struct State {
        var listener: (any SubscriberListener)?
        /// Rung before anybody listened.
        var wasHandedOver = false
    }

    private let state = Mutex(State())
    /// Hears nothing before the end, and then all of it: a place in the second row, of which there are more.
    public let deliversAtEnd: Bool

    /// A follower whose bell nobody hears yet.
    public init(deliversAtEnd: Bool = false) { self.deliversAtEnd = deliversAtEnd }

    /// From now on `listener` hears the bell, on the thread that rings it; at once when the client was handed over before.
    public func listen(_ listener: any SubscriberListener) {
        let wasHandedOver = state.withLock { state in
            state.listener = listener
            return state.wasHandedOver
        }
        if wasHandedOver { listener.signalled(.handOver) }
    }

    /// Nobody listens any more.
    public func stopListening() { state.withLock { $0.listener = nil } }

    /// Rings. Progress that nobody hears is not remembered: who begins to listen looks at the turn first.
    public func notify(_ signal: Signal) {
        let listener = state.withLock { state in
            if signal == .handOver { state.wasHandedOver = true }
            return state.listener
        }
        listener?.signalled(signal)
    }
}

/// The followers of a turn, in the order in which they came. Nearly always there is one, and it stands in the turn itself.
struct Subscribers: Sendable {
    private var first: Subscriber?
    private var others: [Subscriber] = []

    var isEmpty: Bool { first == nil }

    /// How many wait for the end, or how many hear of each piece.
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

    /// Rings those who do not wait for the end.
    func notifyLive() {
        if let first, !first.deliversAtEnd { first.notify(.progressed) }
        for subscriber in others where !subscriber.deliversAtEnd { subscriber.notify(.progressed) }
    }
}
