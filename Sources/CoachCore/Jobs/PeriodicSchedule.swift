/// When work that repeats runs next, and which of its failures is worth a report: the first of an outage. Pure.
public struct PeriodicSchedule: Sendable, Equatable {
    /// What a run's end means for the log.
    public enum Report: Sendable, Equatable {
        case outageBegan, outageEnded
    }

    /// From the beginning of a run to the beginning of the next.
    public var every: Duration
    /// The same after a run that failed.
    public var retryEvery: Duration
    /// From the start to the first run; zero: at once.
    public var firstAfter: Duration
    /// 0 to 1: the share of each pause that is left to chance, so that instances that started together do not stay together.
    /// A pause is only ever shortened.
    public var jitter: Double
    private var outage = Outage()

    /// `retryEvery`: as `every` when nil.
    public init(every: Duration, retryEvery: Duration? = nil, firstAfter: Duration = .zero, jitter: Double = 0) {
        self.every = every
        self.retryEvery = retryEvery ?? every
        self.firstAfter = firstAfter
        self.jitter = jitter
    }

    /// Before the first run. `random`: 0 to 1.
    public func firstPause(random: Double) -> Duration { shortened(firstAfter, random) }

    /// After a run that took so long. A run that took longer than its interval is followed by the next at once.
    public mutating func ended(succeeded: Bool, after duration: Duration, random: Double) -> (pause: Duration, report: Report?) {
        let pause = max(.zero, shortened(succeeded ? every : retryEvery, random) - duration)
        if succeeded { return (pause, outage.ended() ? .outageEnded : nil) }
        return (pause, outage.began() ? .outageBegan : nil)
    }

    private func shortened(_ pause: Duration, _ random: Double) -> Duration { pause * (1 - jitter * random) }
}
