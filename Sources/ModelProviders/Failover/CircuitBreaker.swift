import CoachCore
import TokenRelay

/// Remembers whether a provider answered lately. Pure.
///
/// It orders: a provider with an open circuit is tried after the others. It forbids no call its only request, so a route of a single provider, or one
/// where all are down, loses nothing; further requests of a call to providers with open circuits are bounded by `RetryBudget`. Once the cooldown is
/// over, one call is let through as a probe.
struct CircuitBreaker: Equatable {
    /// So many failures in a row open the circuit ...
    static let failuresToOpen = 5
    /// ... for so long.
    static let cooldown = Duration.seconds(10)
    /// What only an operator can mend opens it at once, for longer.
    static let cooldownForOperator = Duration.seconds(60)

    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: MonotonicInstant)
        /// One call tries. If it ends without a result (it may be cancelled), the next probe is admitted when its time is over.
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
        // Calls that began earlier, or that had no other provider left, prolong nothing: else a busy route would never probe.
        case .open: break
        }
    }

    /// A call failed for what only an operator can mend: no money, a wrong key.
    mutating func failedForOperator(at now: MonotonicInstant) {
        state = .open(until: now + Self.cooldownForOperator)
    }
}
