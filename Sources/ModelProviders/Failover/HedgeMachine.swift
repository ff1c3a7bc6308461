import TokenRelay

/// Decides between a call and a second one, which begins when the first is late. Pure; the driver (`HedgedCall`) holds the calls and the timer.
struct HedgeMachine: Equatable {
    enum Call: Equatable {
        case first, second

        var other: Call { self == .first ? .second : .first }
    }

    enum Action: Equatable {
        case none
        /// Begin the second call.
        case beginSecond
        /// Use this call's answer from now on, and cancel the other one. Comes exactly once.
        case use(Call)
    }

    private enum State: Equatable {
        case idle
        /// Only the first call runs. The second begins at this time; nil: never.
        case alone(late: MonotonicInstant?)
        case racing
        case decided(Call)
    }

    private var state = State.idle

    /// The call whose answer is used; nil: it is not decided yet.
    @inline(__always) var used: Call? {
        if case .decided(let call) = state { call } else { nil }
    }

    /// - Parameter hedgingDelay: how long the first call may be without text before a second one begins; nil: none begins.
    mutating func begin(at now: MonotonicInstant, hedgingDelay: Duration?) {
        guard state == .idle else { return }
        state = .alone(late: hedgingDelay.map { now + $0 })
    }

    /// Time has passed. Changes nothing before the second call is due.
    mutating func timePassed(at now: MonotonicInstant) -> Action {
        guard case .alone(let late?) = state, now >= late else { return .none }
        state = .racing
        return .beginSecond
    }

    /// A call has text.
    mutating func receivedText(_ call: Call) -> Action {
        switch state {
        case .alone, .racing: use(call)
        case .idle, .decided: .none
        }
    }

    /// A call ended without text. While both run, that leaves the answer to the other one, whatever the end was: it may still have text.
    mutating func ended(_ call: Call) -> Action {
        switch state {
        case .alone: use(call)
        case .racing: use(call.other)
        case .idle, .decided: .none
        }
    }

    /// The whole call is to be cancelled.
    mutating func cancelled() -> Action {
        used == nil ? use(.first) : .none
    }

    private mutating func use(_ call: Call) -> Action {
        state = .decided(call)
        return .use(call)
    }
}
