import Glibc

/// A point in time on the monotonic clock, for state that is accessed for each token.
///
/// `ContinuousClock.Instant` has no layout that is known at compile time, so state that contains one is copied and compared through type
/// metadata, which cost more than parsing the token (measured by Benchmarks/Workloads/Dialects). A `Duration` has a known layout.
public struct Moment: Hashable, Comparable, Sendable {
    private var sinceBoot: Duration

    /// The time now.
    public static var now: Moment {
        var time = timespec()
        // Cannot fail: every Linux kernel has this clock.
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(sinceBoot: Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000))
    }

    public static func < (one: Moment, other: Moment) -> Bool { one.sinceBoot < other.sinceBoot }
    public static func + (moment: Moment, duration: Duration) -> Moment { Moment(sinceBoot: moment.sinceBoot + duration) }

    /// The time from this moment to `other`; negative when `other` is earlier.
    public func duration(to other: Moment) -> Duration { other.sinceBoot - sinceBoot }
}
