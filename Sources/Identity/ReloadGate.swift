/// Decides who may start loading a key set: one at a time, and for unknown keys, which any stranger can invent, rarely.
struct ReloadGate {
    enum Decision: Equatable {
        /// Load now, then call `finished`.
        case start
        /// Somebody is loading; wait for that.
        case join
        /// Do without.
        case refuse
    }

    let pauseForStrangers: Duration
    private var loading = false
    private var lastForStranger: ContinuousClock.Instant?

    init(pauseForStrangers: Duration) { self.pauseForStrangers = pauseForStrangers }

    /// A token named a key that is not in the set.
    mutating func unknownKey(at now: ContinuousClock.Instant) -> Decision {
        if loading { return .join }
        if let lastForStranger, now < lastForStranger + pauseForStrangers { return .refuse }
        lastForStranger = now
        loading = true
        return .start
    }

    /// It is time to look again.
    mutating func due() -> Decision {
        if loading { return .join }
        loading = true
        return .start
    }

    mutating func finished() { loading = false }
}
