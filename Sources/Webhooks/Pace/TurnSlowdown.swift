/// The factor by which events are slowed down for turns, by the times that turns take to begin beside events and without them. It compares medians,
/// so it needs to know neither the machine nor its database. As long as it knows too few turns without events, turns are slow to it.
struct TurnSlowdown {
    /// Turns beside events that are compared at a time.
    private static let sample = 16
    /// Turns without events that are remembered: the last ones.
    private static let remembered = 64
    /// Turns beside events may take so many times as long to begin. The begin is a third of the time to the first token, which may be 1.1 times as
    /// long.
    private static let allowed = 1.25
    /// Up to here they are a little slow, and events yield a little.
    private static let slightlySlow = 2.0
    private static let slightYield = 1.25
    private static let mostYield = 4.0

    /// The factor by which events are slowed down: from 1 to 4.
    private(set) var yield = 1.0
    private var usual: [Duration] = []
    private var besideEvents: [Duration] = []

    /// Adds the time that a turn took to begin.
    mutating func record(_ duration: Duration, besideEvents isBeside: Bool) {
        guard isBeside else {
            if usual.count == Self.remembered { usual.removeFirst() }
            usual.append(duration)
            return
        }
        besideEvents.append(duration)
        guard besideEvents.count == Self.sample else { return }
        let ratio = usual.count < Self.sample ? .infinity : besideEvents.median / usual.median
        // Up faster than down: chat comes first.
        let (more, less) = (yield * 1.5, yield / 1.25)
        yield =
            if ratio > Self.slightlySlow {
                min(more, Self.mostYield)
            } else if ratio > Self.allowed {
                yield < Self.slightYield ? min(more, Self.slightYield) : max(less, Self.slightYield)
            } else {
                max(less, 1)
            }
        besideEvents.removeAll(keepingCapacity: true)
    }
}

extension [Duration] {
    fileprivate var median: Duration { sorted()[count / 2] }
}
