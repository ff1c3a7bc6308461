/// Computes the factor by which events are slowed down for turns. It compares the median time in which turns begin beside events with the median
/// without events, so it does not depend on the speed of the machine or the database. While it knows too few turns without events, turns count as slow.
struct TurnSlowdown {
    /// How many turns beside events are compared at a time.
    private static let sample = 16
    /// How many turns without events are remembered. These are the last ones.
    private static let remembered = 64
    /// The begin of a turn beside events may take so many times as long. It is a third of the time to the first token, which may be 1.1 times as long.
    private static let allowed = 1.25
    /// Up to this ratio turns are a little slow, and events are slowed down a little.
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
