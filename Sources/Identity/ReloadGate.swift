/// Decides whether to reload the key set: one reload runs at a time, and reloads for unknown key ids, which any client can cause, are
/// rate-limited. Pure.
struct ReloadGate {
    enum Decision: Equatable {
        /// Load the key set now, then call `finished`.
        case start
        /// Wait for the reload that is in progress.
        case join
        /// Do not reload.
        case skip
    }

    /// The shortest interval between two reloads for unknown key ids.
    let unknownKeyPause: Duration
    private var loading = false
    private var lastForUnknownKey: ContinuousClock.Instant?

    init(unknownKeyPause: Duration) { self.unknownKeyPause = unknownKeyPause }

    /// A token has a key id that is not in the set.
    mutating func unknownKey(at now: ContinuousClock.Instant) -> Decision {
        if loading { return .join }
        if let lastForUnknownKey, now < lastForUnknownKey + unknownKeyPause { return .skip }
        lastForUnknownKey = now
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
