import Reactor
import Synchronization

/// How long a reactor's thread works between two looks at its timers, at the most: what a token that arrives in between waits for.
///
/// It counts the thread's own processor time, so that other processes of a busy machine do not count.
package final class ThreadProbe: Sendable {
    private struct State {
        var last: Duration?
        var longest = Duration.zero
        var rounds = 0
    }

    private let reactor: Reactor
    private let state = Mutex(State())

    /// Looks every millisecond from now on, until the reactor stops.
    package init(_ reactor: Reactor) {
        self.reactor = reactor
        reactor.submit { self.look() }
    }

    package var longest: Duration { state.withLock { $0.longest } }
    /// Looks taken so far.
    package var rounds: Int { state.withLock { $0.rounds } }

    /// Forgets what was measured.
    package func reset() {
        state.withLock {
            $0.longest = .zero
            $0.rounds = 0
        }
    }

    private func look() {
        let now = threadProcessorTime()
        state.withLock { state in
            if let last = state.last { state.longest = max(state.longest, now - last) }
            state.last = now
            state.rounds += 1
        }
        reactor.schedule(after: .milliseconds(1)) { self.look() }
    }
}
