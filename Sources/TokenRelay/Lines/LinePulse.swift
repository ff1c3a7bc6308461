/// When a line has been silent too long, and when its client has taken nothing for too long. Pure: the clock is an argument.
struct LinePulse {
    /// What the time asks for.
    enum Action: Equatable {
        case none
        /// Say something.
        case heartbeat
        /// The client does not read: end the line.
        case cutOff
        /// The line has lasted: it is worth a connection of its own.
        case moveOut
    }

    private let limits: LineLimits
    private var lastWrite: Moment
    /// Since when bytes have waited of which the client has taken none.
    private var stuckSince: Moment?
    /// nil once it has moved out.
    private var sharesUntil: Moment?

    init(_ limits: LineLimits, now: Moment) {
        self.limits = limits
        lastWrite = now
        sharesUntil = now + limits.sharing
    }

    /// When `due` is to be asked.
    var deadline: Moment {
        let silent = stuckSince.map { $0 + limits.stall } ?? lastWrite + limits.silence
        return sharesUntil.map { min($0, silent) } ?? silent
    }

    /// The client's socket took bytes; `isWaiting`: not all there were.
    mutating func wrote(isWaiting: Bool, at now: Moment) {
        lastWrite = now
        stuckSince = isWaiting ? now : nil
    }

    /// The client's socket took none.
    mutating func refused(at now: Moment) {
        if stuckSince == nil { stuckSince = now }
    }

    mutating func due(at now: Moment) -> Action {
        guard now >= deadline else { return .none }
        if let end = sharesUntil, now >= end {
            sharesUntil = nil
            return .moveOut
        }
        return stuckSince == nil ? .heartbeat : .cutOff
    }
}

/// How long a line may be silent in either direction.
public struct LineLimits: Sendable {
    /// A heartbeat goes out after this. The contract allows 10 s (CONTRACT §4): a late timer is still within it.
    public var silence: Duration
    /// A client that takes nothing for this long is cut off (CONTRACT §2).
    public var stall: Duration
    /// For so long a line shares its connection with whoever answered the request, who may use it for the next one; then it has it alone.
    /// What is given up is a connection kept alive, which a short answer would notice, and a long one does not; what is won is two thirds of a
    /// stream's memory.
    public var sharing: Duration

    /// Memberwise.
    public init(silence: Duration = .seconds(9), stall: Duration = .seconds(75), sharing: Duration = .seconds(1)) {
        self.silence = silence
        self.stall = stall
        self.sharing = sharing
    }
}
