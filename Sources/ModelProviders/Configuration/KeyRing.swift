import TokenRelay

/// The keys of one provider, in the order of their use. A key that was refused rests. Pure.
struct KeyRing: Equatable {
    private var keys: [String]
    private var rests: [String: Moment] = [:]

    init(_ keys: [String]) { self.keys = keys }

    /// The first key that does not rest; when all do, the one whose rest ends first. nil when there is none.
    func key(at now: Moment) -> String? {
        keys.first { isReady($0, at: now) } ?? keys.min { (rests[$0] ?? now) < (rests[$1] ?? now) }
    }

    /// Lets a key rest. Whether another one is ready.
    mutating func reject(_ key: String, until end: Moment, at now: Moment) -> Bool {
        if keys.contains(key) { rests[key] = end }
        return keys.contains { isReady($0, at: now) }
    }

    /// Takes new keys; those that stay go on resting. Whether they differ.
    mutating func replace(with new: [String]) -> Bool {
        guard new != keys else { return false }
        keys = new
        rests = rests.filter { new.contains($0.key) }
        return true
    }

    private func isReady(_ key: String, at now: Moment) -> Bool { rests[key].map { $0 <= now } ?? true }
}
