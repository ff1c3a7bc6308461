/// The addresses of names, how long each answer may be used, and who waits for one. Pure: the clock is an argument.
struct NameTable<Waiter> {
    typealias Instant = ContinuousClock.Instant

    enum AfterAsking: Equatable {
        /// Use these; the caller starts a lookup for newer ones when `startsLookup` is true.
        case known([String], startsLookup: Bool)
        /// The waiter is called when the lookup ends; the caller starts the lookup.
        case startLookup
        /// The waiter is called when the lookup ends.
        case wait
    }

    /// The bounds of a table.
    struct Limits {
        /// How long an answer is used without asking again.
        var freshness: Duration
        /// How long an answer is used while no newer one can be had, or is on its way.
        var staleness: Duration
        /// After a lookup that failed, no new lookup for an answer that is still used before this.
        var retryInterval: Duration
        /// Names remembered.
        var capacity: Int
        /// Lookups at a time.
        var lookups: Int
    }

    private struct Answer {
        var addresses: [String]
        var since: Instant
        /// When a new lookup is due.
        var refreshAt: Instant
    }

    private enum Entry {
        /// Asked for, without an answer to use meanwhile.
        case pending([Waiter])
        case known(Answer)
        case refreshing(Answer)
    }

    private let limits: Limits
    private var entries: [String: Entry] = [:]
    private var lookups = 0
    /// Names whose lookup must wait for another one to end.
    private var queue: [String] = []

    init(_ limits: Limits) { self.limits = limits }

    mutating func ask(_ name: String, _ waiter: Waiter, at now: Instant) -> AfterAsking {
        switch entries[name] {
        case .pending(let waiters):
            entries[name] = .pending(waiters + [waiter])
            return .wait
        case .refreshing(let answer):
            // The lookup that runs serves those who may not use the old answer any more.
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

    /// A lookup ended, with addresses or (nil) without. `next` is the name whose lookup the caller starts now.
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
