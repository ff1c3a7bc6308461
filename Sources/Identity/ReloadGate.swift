/// Decides whether to reload the key set: only one reload runs at a time, and reloads for unknown key ids, which anybody can invent, are
/// rate-limited.
struct ReloadGate {
    enum Decision: Equatable {
        /// Load the key set now, then call `finished`.
        case start
        /// Wait for the reload that is in progress.
        case join
        /// Do not reload.
        case refuse
    }

    let pauseForStrangers: Duration
    private var loading = false
    private var lastForStranger: ContinuousClock.Instant?

    init(pauseForStrangers: Duration) { self.pauseForStrangers = pauseForStrangers }

    /// A token has a key id that is not in the set.
    mutating func unknownKey(at now: ContinuousClock.Instant) -> Decision {
        if loading { return .join }
        if let lastForStranger, now < lastForStranger + pauseForStrangers { return .refuse }
        lastForStranger = now
        loading = true
        return .start
    }

    /// The interval since the last reload has passed.
    mutating func due() -> Decision {
        if loading { return .join }
        loading = true
        return .start
    }

    mutating func finished() { loading = false }
}
