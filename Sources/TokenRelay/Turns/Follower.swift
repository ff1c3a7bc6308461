import Synchronization

/// Who hears a follower's bell, on the thread that rings it. An object and not a closure: see `ReadinessHandler`.
public protocol FollowerListener: AnyObject, Sendable {
    func heard(_ signal: Follower.Signal)
}

/// A client's place at a turn. It holds no text, only a bell: a slow client costs nothing but its place.
public final class Follower: Sendable {
    /// Why the bell rang.
    public enum Signal: Sendable, Equatable {
        /// There is more text, or the end.
        case progressed
        /// The turn is not told to its end here: the client is to resume elsewhere.
        case handOver
    }

    private struct State {
        var listener: (any FollowerListener)?
        /// Rung before anybody listened.
        var wasHandedOver = false
    }

    private let state = Mutex(State())
    /// Hears nothing before the end, and then all of it: a place in the second row, of which there are more.
    public let isPatient: Bool

    /// A follower whose bell nobody hears yet.
    public init(isPatient: Bool = false) { self.isPatient = isPatient }

    /// From now on `listener` hears the bell, on the thread that rings it; at once when the client was handed over before.
    public func listen(_ listener: any FollowerListener) {
        let wasHandedOver = state.withLock { state in
            state.listener = listener
            return state.wasHandedOver
        }
        if wasHandedOver { listener.heard(.handOver) }
    }

    /// Nobody listens any more.
    public func stopListening() { state.withLock { $0.listener = nil } }

    /// Rings. Progress that nobody hears is not remembered: who begins to listen looks at the turn first.
    public func ring(_ signal: Signal) {
        let listener = state.withLock { state in
            if signal == .handOver { state.wasHandedOver = true }
            return state.listener
        }
        listener?.heard(signal)
    }
}

/// The followers of a turn, in the order in which they came. Nearly always there is one, and it stands in the turn itself.
struct Followers: Sendable {
    private var first: Follower?
    private var others: [Follower] = []

    var isEmpty: Bool { first == nil }

    /// How many wait for the end, or how many hear of each piece.
    func count(ofPatient isPatient: Bool) -> Int {
        (first?.isPatient == isPatient ? 1 : 0) + others.count { $0.isPatient == isPatient }
    }

    mutating func append(_ follower: Follower) {
        if first == nil { first = follower } else { others.append(follower) }
    }

    mutating func remove(_ follower: Follower) {
        if first === follower {
            first = others.isEmpty ? nil : others.removeFirst()
        } else {
            others.removeAll { $0 === follower }
        }
    }

    func ring(_ signal: Follower.Signal) {
        first?.ring(signal)
        for follower in others { follower.ring(signal) }
    }

    /// Rings those who do not wait for the end.
    func ringImpatient() {
        if let first, !first.isPatient { first.ring(.progressed) }
        for follower in others where !follower.isPatient { follower.ring(.progressed) }
    }
}
