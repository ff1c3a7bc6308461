/// Maps the one timer of libcurl's multi interface to timers of the reactor. Pure: the clock is an argument.
///
/// libcurl sets its timer anew for nearly every chunk. When the new time is later, the reactor's timer is kept, and set again when it
/// fires, so that no timer is made for each chunk. 0 ms means at once, but not from inside libcurl: at the end of the wake-up.
struct TimerMachine {
    typealias Instant = ContinuousClock.Instant

    enum Action: Equatable {
        case nothing
        /// Call `wakeUpEnds` at the end of this wake-up.
        case atEndOfWakeUp
        /// Replace the reactor's timer by one that calls `fired` after this time.
        case schedule(Duration)
        /// Tell libcurl that its timer has expired.
        case timeout
    }

    /// When libcurl wants to be called.
    private var deadline: Instant?
    /// When the reactor's timer fires.
    private var scheduled: Instant?

    /// libcurl sets its timer; a negative number cancels it.
    mutating func move(toMilliseconds milliseconds: Int, at now: Instant) -> Action {
        guard milliseconds >= 0 else {
            deadline = nil
            return .nothing
        }
        let wanted = now + .milliseconds(milliseconds)
        deadline = wanted
        guard milliseconds > 0 else { return .atEndOfWakeUp }
        if let scheduled, scheduled <= wanted { return .nothing }
        scheduled = wanted
        return .schedule(.milliseconds(milliseconds))
    }

    /// The reactor's timer fired.
    mutating func fired(at now: Instant) -> Action {
        scheduled = nil
        guard let deadline else { return .nothing }
        guard deadline <= now else {
            scheduled = deadline
            return .schedule(now.duration(to: deadline))
        }
        self.deadline = nil
        return .timeout
    }

    mutating func wakeUpEnds(at now: Instant) -> Action {
        guard let deadline, deadline <= now else { return .nothing }
        self.deadline = nil
        return .timeout
    }
}
