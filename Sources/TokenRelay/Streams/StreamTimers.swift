/// When a line has been silent too long, and when its client has taken nothing for too long. Pure: the clock is an argument.
struct StreamTimers {
    /// What is due.
    enum Action: Equatable {
        case none
        /// Say something.
        case heartbeat
        /// The client does not read: end the line.
        case cutOff
    }

    private let limits: StreamLimits
    private var lastWrite: Moment
    /// Since when bytes have waited of which the client has taken none.
    private var stuckSince: Moment?

    init(_ limits: StreamLimits, now: Moment) {
        self.limits = limits
        lastWrite = now
    }

    /// When to call `due`.
    var deadline: Moment { stuckSince.map { $0 + limits.stall } ?? lastWrite + limits.silence }

    /// The client's socket took bytes; `isWaiting`: not all there were.
    mutating func wrote(isWaiting: Bool, at now: Moment) {
        lastWrite = now
        stuckSince = isWaiting ? now : nil
    }

    /// The client's socket took none.
    mutating func refused(at now: Moment) {
        if stuckSince == nil { stuckSince = now }
    }

    func due(at now: Moment) -> Action {
        guard now >= deadline else { return .none }
        return stuckSince == nil ? .heartbeat : .cutOff
    }
}

/// How long a line may be silent in either direction.
public struct StreamLimits: Sendable {
    /// A heartbeat goes out after this. The contract allows 10 s (CONTRACT §4): a late timer is still within it.
    public var silence: Duration
    /// A client that takes nothing for this long is cut off (CONTRACT §2).
    public var stall: Duration

    public init(silence: Duration = .seconds(9), stall: Duration = .seconds(75)) {
        self.silence = silence
        self.stall = stall
    }
}
