import CoachCore
import TokenRelay

/// Remembers whether a provider answered lately. Pure.
///
/// A provider with an open circuit is tried after the others. The circuit never forbids a call its only request, so a route with one provider, or one
/// whose providers all fail, loses nothing. `RetryBudget` bounds the further requests of a call to providers with open circuits. When the cooldown is
/// over, one call goes to the provider as a probe.
struct CircuitBreaker: Equatable {
    /// The number of failures in a row that opens the circuit.
    static let failuresToOpen = 5
    /// How long the circuit is open after them.
    static let cooldown = Duration.seconds(10)
    /// How long it is open after a failure that only an operator can mend, which opens it at once.
    static let cooldownForOperator = Duration.seconds(60)

    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: MonotonicInstant)
        /// One call is the probe. If it ends without a result, because it was cancelled, the next probe is admitted at this time.
        case probing(until: MonotonicInstant)
    }

    private var state = State.closed(failures: 0)

    /// Whether the provider is tried in its turn, or after the others.
    var isClosed: Bool {
        if case .closed = state { true } else { false }
    }

    var circuit: CircuitState {
        switch state {
        case .closed: .closed
        case .probing: .halfOpen
        case .open: .open
        }
    }

    /// Whether a call may go to this provider as if nothing were wrong. Makes the call the probe when one is due.
    mutating func admits(at now: MonotonicInstant) -> Bool {
        switch state {
        case .closed: return true
        case .open(let until), .probing(let until):
            guard now >= until else { return false }
            state = .probing(until: now + Self.cooldown)
            return true
        }
    }

    /// A call got text.
    mutating func succeeded() {
        state = .closed(failures: 0)
    }

    /// A call failed before any text, by the provider's fault.
    mutating func failed(at now: MonotonicInstant) {
        switch state {
        case .closed(let failures) where failures + 1 < Self.failuresToOpen: state = .closed(failures: failures + 1)
        case .closed, .probing: state = .open(until: now + Self.cooldown)
        // Calls still fail here that began earlier or had no other provider left. If they prolonged the cooldown, a busy route would never probe.
        case .open: break
        }
    }

    /// A call failed for what only an operator can mend: no money, a wrong key, a model that the provider does not know.
    mutating func failedForOperator(at now: MonotonicInstant) {
        state = .open(until: now + Self.cooldownForOperator)
    }
}
