/// The state machine of `NameCache`: cached addresses by name, the waiters of running lookups, and the queue of names whose lookup has not
/// started. Pure: the clock is an argument.
struct NameTable<Waiter> {
    typealias Instant = ContinuousClock.Instant

    /// What the caller of `lookUp` must do.
    enum LookupAction: Equatable {
        /// Use these addresses. If `startsLookup`, also start a lookup to refresh them.
        case known([String], startsLookup: Bool)
        /// Start a lookup. `answered` returns the waiter when it ends.
        case startLookup
        /// Nothing. `answered` returns the waiter when a running or queued lookup ends.
        case wait
    }

    struct Limits {
        /// How long an answer is used without a new lookup.
        var freshness: Duration
        /// How long an answer may be used at all, counted from its lookup: while it is being refreshed or refreshing fails.
        var staleness: Duration
        /// How long after a failed refresh the next one starts.
        var retryInterval: Duration
        /// Names in the table. When it is full, all answers that are not being refreshed are dropped.
        var capacity: Int
        /// Lookups that run at the same time; more names wait in a queue.
        var lookups: Int
    }

    private struct Answer {
        var addresses: [String]
        var since: Instant
        /// From then on the next request starts a new lookup.
        var refreshAt: Instant
    }

    private enum Entry {
        /// A lookup runs or is queued, and there is no answer that may be used meanwhile.
        case pending([Waiter])
        case known(Answer)
        case refreshing(Answer)
    }

    private let limits: Limits
    private var entries: [String: Entry] = [:]
    /// Lookups that run.
    private var lookups = 0
    /// Names whose lookup starts when a running one ends.
    private var queue: [String] = []

    init(_ limits: Limits) { self.limits = limits }

    mutating func lookUp(_ name: String, _ waiter: Waiter, at now: Instant) -> LookupAction {
        switch entries[name] {
        case .pending(let waiters):
            entries[name] = .pending(waiters + [waiter])
            return .wait
        case .refreshing(let answer):
            // The old answer has expired: the running refresh serves the waiters.
            guard now < answer.since + limits.staleness else {
                entries[name] = .pending([waiter])
                return .wait
            }
            return .known(answer.addresses, startsLookup: false)
        case .known(let answer) where now < answer.since + limits.staleness:
            guard answer.refreshAt <= now, lookups < limits.lookups else { return .known(answer.addresses, startsLookup: false) }
            entries[name] = .refreshing(answer)
            lookups += 1
            return .known(answer.addresses, startsLookup: true)
        case .known, nil:
            entries[name] = .pending([waiter])
            guard lookups < limits.lookups else {
                queue.append(name)
                return .wait
            }
            lookups += 1
            return .startLookup
        }
    }

    /// A lookup ended; `addresses` is nil if it failed. The caller answers `waiters` and starts the lookup of `next`.
    mutating func answered(_ name: String, _ addresses: [String]?, at now: Instant) -> (waiters: [Waiter], next: String?) {
        let next = queue.isEmpty ? nil : queue.removeFirst()
        if next == nil { lookups -= 1 }
        switch entries.removeValue(forKey: name) {
        case .pending(let waiters):
            addresses.map { keep($0, of: name, at: now) }
            return (waiters, next)
        case .refreshing(var answer):
            if let addresses {
                keep(addresses, of: name, at: now)
            } else {
                answer.refreshAt = now + limits.retryInterval
                entries[name] = .known(answer)
            }
            return ([], next)
        case .known, nil: return ([], next)
        }
    }

    private mutating func keep(_ addresses: [String], of name: String, at now: Instant) {
        if entries.count >= limits.capacity { entries = entries.filter { if case .known = $0.value { false } else { true } } }
        entries[name] = .known(Answer(addresses: addresses, since: now, refreshAt: now + limits.freshness))
    }
}
