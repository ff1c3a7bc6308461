import TokenRelay

/// Decides between a call and a second one, which begins when the first is late. Pure; the driver (`HedgedCall`) holds the calls and the timer.
struct HedgeMachine: Equatable {
    enum Lane: Equatable {
        case first, second

        var other: Lane { self == .first ? .second : .first }
    }

    enum Action: Equatable {
        case none
        /// Begin the second call.
        case beginSecond
        /// Use this call's answer from now on, and cancel the other one. Comes exactly once.
        case use(Lane)
    }

    private enum State: Equatable {
        case idle
        /// The second call begins then; nil: never.
        case alone(late: Moment?)
        case racing
        case decided(Lane)
    }

    private var state = State.idle

    /// The call whose answer is used; nil: it is not decided yet.
    @inline(__always) var used: Lane? {
        if case .decided(let lane) = state { lane } else { nil }
    }

    /// - Parameter patience: how long the first call may be without text; nil: as long as it takes.
    mutating func begin(at now: Moment, patience: Duration?) {
        guard state == .idle else { return }
        state = .alone(late: patience.map { now + $0 })
    }

    /// Time has passed. Harmless when called too early.
    mutating func clock(at now: Moment) -> Action {
        guard case .alone(let late?) = state, now >= late else { return .none }
        state = .racing
        return .beginSecond
    }

    /// A call has text.
    mutating func receivedText(_ lane: Lane) -> Action {
        switch state {
        case .alone, .racing: use(lane)
        case .idle, .decided: .none
        }
    }

    /// A call ended without text. While both run, a failure leaves the answer to the other one.
    mutating func ended(_ lane: Lane, isFault: Bool) -> Action {
        switch state {
        case .alone: use(lane)
        case .racing: use(isFault ? lane.other : lane)
        case .idle, .decided: .none
        }
    }

    /// The whole call is to be cancelled.
    mutating func cancelled() -> Action {
        used == nil ? use(.first) : .none
    }

    private mutating func use(_ lane: Lane) -> Action {
        state = .decided(lane)
        return .use(lane)
    }
}
