import Glibc

/// A point on the monotonic clock, to hold in a state that is looked at once a token.
///
/// The library's `ContinuousClock.Instant` has no layout that a compiler may know: a state that holds one is copied and compared through
/// metadata, which cost more than reading the token (measured by Benchmarks/Workloads/Dialects). A `Duration` has one.
public struct Moment: Hashable, Comparable, Sendable {
    private var sinceBoot: Duration

    /// The time now.
    public static var now: Moment {
        var time = timespec()
        // It cannot fail: the clock is one that every kernel has.
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(sinceBoot: Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000))
    }

    public static func < (one: Moment, other: Moment) -> Bool { one.sinceBoot < other.sinceBoot }
    public static func + (moment: Moment, duration: Duration) -> Moment { Moment(sinceBoot: moment.sinceBoot + duration) }

    /// How long after this the other is; negative when it is before.
    public func duration(to other: Moment) -> Duration { other.sinceBoot - sinceBoot }
}
