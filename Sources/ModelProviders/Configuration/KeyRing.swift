import TokenRelay

/// The keys of one provider, in the order of their use. A key that was refused, or that met a rate limit, rests. Pure.
struct KeyRing: Equatable {
    private struct Rest: Equatable {
        var end: MonotonicInstant
        /// The provider refused the key, or has no money for it.
        var isRefused: Bool
    }

    private var keys: [String]
    private var rests: [String: Rest] = [:]

    init(_ keys: [String]) { self.keys = keys }

    /// The first key that does not rest; when all do, the one whose rate limit ends first: the limit may be another model's, and the model that
    /// met it gets no request (`ProviderHealth.isResting`). nil when there is none, and when all were refused.
    func key(at now: MonotonicInstant) -> String? {
        keys.first { isReady($0, at: now) }
            ?? keys.filter { rests[$0]?.isRefused == false }.min { (rests[$0]?.end ?? now) < (rests[$1]?.end ?? now) }
    }

    /// When the first key is ready, now or later; nil when there is none.
    func firstReady(at now: MonotonicInstant) -> MonotonicInstant? { keys.map { max(now, rests[$0]?.end ?? now) }.min() }

    /// Whether there are keys, and each of them rests because it was refused.
    func areRefused(at now: MonotonicInstant) -> Bool { !keys.isEmpty && key(at: now) == nil }

    /// Lets a key rest, at least as long as an earlier response wanted it to: responses to concurrent requests come in any order. Whether another
    /// key is ready.
    mutating func reject(_ key: String, until end: MonotonicInstant, isRefused: Bool, at now: MonotonicInstant) -> Bool {
        if keys.contains(key) {
            let earlier = rests[key].flatMap { $0.end > now ? $0 : nil }
            rests[key] = Rest(end: max(end, earlier?.end ?? end), isRefused: isRefused || earlier?.isRefused == true)
        }
        return keys.contains { $0 != key && isReady($0, at: now) }
    }

    /// Takes new keys; those that stay go on resting. Whether they differ.
    mutating func replace(with new: [String]) -> Bool {
        guard new != keys else { return false }
        keys = new
        rests = rests.filter { new.contains($0.key) }
        return true
    }

    private func isReady(_ key: String, at now: MonotonicInstant) -> Bool { rests[key].map { $0.end <= now } ?? true }
}
