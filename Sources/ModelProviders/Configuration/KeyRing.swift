import TokenRelay

/// The keys of one provider, in the order of their use. A key that was refused, or that met a rate limit, has a cooldown. Pure.
struct KeyRing: Equatable {
    private struct Cooldown: Equatable {
        var end: MonotonicInstant
        /// The provider refused the key, or has no money for it.
        var isRefused: Bool
    }

    private var keys: [String]
    private var cooldowns: [String: Cooldown] = [:]

    init(_ keys: [String]) { self.keys = keys }

    /// The first key without a cooldown. When all have one, the key whose rate limit ends first: that limit may be of another model, and
    /// `ProviderHealth.isCoolingDown` forbids requests to the model that met it. nil when there is no key, and when all were refused.
    func key(at now: MonotonicInstant) -> String? {
        keys.first { isReady($0, at: now) }
            ?? keys.filter { cooldowns[$0]?.isRefused == false }.min { (cooldowns[$0]?.end ?? now) < (cooldowns[$1]?.end ?? now) }
    }

    /// The earliest time at which a key is ready, `now` or later; nil when there is no key.
    func firstReady(at now: MonotonicInstant) -> MonotonicInstant? { keys.map { max(now, cooldowns[$0]?.end ?? now) }.min() }

    /// Whether there are keys, and each of them has a cooldown because it was refused.
    func areRefused(at now: MonotonicInstant) -> Bool { !keys.isEmpty && key(at: now) == nil }

    /// Gives a key a cooldown. One that runs already is never shortened, because responses to concurrent requests come in any order.
    /// - Returns: whether another key is ready.
    mutating func coolDown(_ key: String, until end: MonotonicInstant, isRefused: Bool, at now: MonotonicInstant) -> Bool {
        if keys.contains(key) {
            let earlier = cooldowns[key].flatMap { $0.end > now ? $0 : nil }
            cooldowns[key] = Cooldown(end: max(end, earlier?.end ?? end), isRefused: isRefused || earlier?.isRefused == true)
        }
        return keys.contains { $0 != key && isReady($0, at: now) }
    }

    /// Takes new keys; those that stay keep their cooldown.
    /// - Returns: whether the keys have changed.
    mutating func replace(with new: [String]) -> Bool {
        guard new != keys else { return false }
        keys = new
        cooldowns = cooldowns.filter { new.contains($0.key) }
        return true
    }

    private func isReady(_ key: String, at now: MonotonicInstant) -> Bool { cooldowns[key].map { $0.end <= now } ?? true }
}
