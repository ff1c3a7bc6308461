import Synchronization

/// Holds billing events back while a turn begins, for `longestWait` at most: stored at the same time, they would compete with it for the database
/// and the processors. Those that wait pass together, which costs less (`BillingInbox`).
final class TurnGate: Sendable {
    private struct State {
        var beginning = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// The number of times that those who waited have passed.
        var openings = 0
    }
    private let longestWait: Duration
    private let state = Mutex(State())

    /// - Parameter longestWait: of an event, however many turns begin.
    init(longestWait: Duration = .milliseconds(10)) {
        self.longestWait = longestWait
    }

    /// Events that wait now.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func turnBegins() {
        state.withLock { $0.beginning += 1 }
    }

    /// A turn has begun, or failed to.
    func turnBegan() {
        let passing = state.withLock { state in
            state.beginning -= 1
            return state.beginning == 0 ? Self.open(&state) : []
        }
        for event in passing { event.resume() }
    }

    /// Returns when an event may be stored.
    func pass() async {
        guard state.withLock({ $0.beginning > 0 }) else { return }
        await withCheckedContinuation { event in
            let (place, openings) = state.withLock { state in
                guard state.beginning > 0 else { return (0, state.openings) }
                state.waiting.append(event)
                return (state.waiting.count, state.openings)
            }
            if place == 0 { event.resume() }
            if place == 1 { openAfterLongestWait(unlessOpenedAfter: openings) }
        }
    }

    private func openAfterLongestWait(unlessOpenedAfter openings: Int) {
        // Ends by itself after this time; nothing cancels it.
        Task {
            try? await Task.sleep(for: longestWait)
            let passing = state.withLock { $0.openings == openings ? Self.open(&$0) : [] }
            for event in passing { event.resume() }
        }
    }

    private static func open(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        state.openings += 1
        defer { state.waiting.removeAll() }
        return state.waiting
    }
}
