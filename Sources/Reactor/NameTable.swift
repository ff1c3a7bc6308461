/// Which names are known, being looked up, or waiting to be looked up. Pure: the clock is an argument.
struct NameTable<Waiter> {
    typealias Instant = ContinuousClock.Instant

    enum AfterAsking: Equatable {
        case known([String])
        /// The waiter is called when the lookup ends; the caller starts the lookup.
        case startLookup
        /// The waiter is called when the lookup ends.
        case wait
    }

    private enum Entry {
        case pending([Waiter])
        case known([String], until: Instant)
    }

    private let validity: Duration
    private let capacity: Int
    private let maximumLookups: Int
    private var entries: [String: Entry] = [:]
    private var lookups = 0
    /// Names whose lookup must wait for another one to end.
    private var queue: [String] = []

    init(validity: Duration, capacity: Int, maximumLookups: Int) {
        self.validity = validity
        self.capacity = capacity
        self.maximumLookups = maximumLookups
    }

    mutating func ask(_ name: String, _ waiter: Waiter, at now: Instant) -> AfterAsking {
        switch entries[name] {
        case .known(let addresses, let until) where until > now:
            return .known(addresses)
        case .pending(let waiters):
            entries[name] = .pending(waiters + [waiter])
            return .wait
        case .known, nil:
            entries[name] = .pending([waiter])
            guard lookups < maximumLookups else {
                queue.append(name)
                return .wait
            }
            lookups += 1
            return .startLookup
        }
    }

    /// A lookup ended. `next` is the name whose lookup the caller starts now.
    mutating func answered(_ name: String, _ addresses: [String]?, at now: Instant) -> (waiters: [Waiter], next: String?) {
        let next = queue.isEmpty ? nil : queue.removeFirst()
        if next == nil { lookups -= 1 }
        guard case .pending(let waiters)? = entries.removeValue(forKey: name) else { return ([], next) }
        if let addresses {
            if entries.count >= capacity { entries = entries.filter { if case .pending = $0.value { true } else { false } } }
            entries[name] = .known(addresses, until: now + validity)
        }
        return (waiters, next)
    }
}
