/// libcurl's one timer over the reactor's. Pure: the clock is an argument.
///
/// libcurl moves its timer at nearly every chunk. A timer that is moved away stays set and, when it fires, is set again: so no timer object is
/// made for each chunk. 0 ms means soon, outside libcurl: after this wake-up.
struct TimerMachine {
    typealias Instant = ContinuousClock.Instant

    enum Action: Equatable {
        case nothing
        /// Call `wakeUpEnds` after this wake-up.
        case atEndOfWakeUp
        /// Replace the reactor's timer by one that calls `fired` after this time.
        case schedule(Duration)
        /// Tell libcurl that its time has come.
        case timeout
    }

    /// When libcurl wants to be called.
    private var deadline: Instant?
    /// When the reactor's timer fires.
    private var scheduled: Instant?

    /// libcurl moves its timer; a negative number takes it back.
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
