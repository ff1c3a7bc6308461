import Glibc

/// A point in time on the monotonic clock, for state that is accessed for each token.
///
/// `ContinuousClock.Instant` has no layout that is known at compile time, so state that contains one is copied and compared through type
/// metadata, which cost more than parsing the token (measured by Tests/Benchmarks/Workloads/Dialects). A `Duration` has a known layout.
public struct MonotonicInstant: Hashable, Comparable, Sendable {
    private var sinceBoot: Duration

    /// The time now.
    public static var now: MonotonicInstant {
        var time = timespec()
        // Cannot fail: every Linux kernel has this clock.
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(
            sinceBoot: Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000))
    }

    public static func < (one: MonotonicInstant, other: MonotonicInstant) -> Bool { one.sinceBoot < other.sinceBoot }
    public static func + (instant: MonotonicInstant, duration: Duration) -> MonotonicInstant {
        MonotonicInstant(sinceBoot: instant.sinceBoot + duration)
    }

    /// The time from this instant to `other`; negative when `other` is earlier.
    public func duration(to other: MonotonicInstant) -> Duration { other.sinceBoot - sinceBoot }
}
