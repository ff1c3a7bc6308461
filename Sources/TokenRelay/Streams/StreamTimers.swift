/// Decides when a stream needs a heartbeat, and when its client has read nothing for too long. Pure: the clock is an argument.
struct StreamTimers {
    /// What is to be done when a deadline is reached.
    enum Action: Equatable {
        case none
        /// Write a heartbeat.
        case heartbeat
        /// The client does not read: end the stream.
        case cutOff
    }

    private let limits: StreamLimits
    private var lastWrite: MonotonicInstant
    /// When bytes began to wait for the socket, or the socket last took some of them; nil: none wait.
    private var stuckSince: MonotonicInstant?

    init(_ limits: StreamLimits, now: MonotonicInstant) {
        self.limits = limits
        lastWrite = now
    }

    /// When to call `due`.
    var deadline: MonotonicInstant { stuckSince.map { $0 + limits.stall } ?? lastWrite + limits.silence }

    /// The client's socket took bytes; `isWaiting`: some are left.
    mutating func wrote(isWaiting: Bool, at now: MonotonicInstant) {
        lastWrite = now
        stuckSince = isWaiting ? now : nil
    }

    /// The client's socket took no bytes.
    mutating func tookNothing(at now: MonotonicInstant) {
        if stuckSince == nil { stuckSince = now }
    }

    func due(at now: MonotonicInstant) -> Action {
        guard now >= deadline else { return .none }
        return stuckSince == nil ? .heartbeat : .cutOff
    }
}

/// The time limits of a client's stream.
public struct StreamLimits: Sendable {
    /// A heartbeat is written after this time without another event. The contract allows 10 s (CONTRACT §4); the difference is for late
    /// timers.
    public var silence: Duration
    /// A stream ends when its client reads nothing for this long (CONTRACT §2).
    public var stall: Duration

    public init(silence: Duration = .seconds(9), stall: Duration = .seconds(75)) {
        self.silence = silence
        self.stall = stall
    }
}
