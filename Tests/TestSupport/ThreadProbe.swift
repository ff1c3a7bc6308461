import Reactor
import Synchronization

/// Measures the longest time that a reactor's thread works between two checks of its timers: an event that arrives in between waits that
/// long.
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

    /// Starts a measurement every millisecond, until the reactor stops.
    package init(_ reactor: Reactor) {
        self.reactor = reactor
        reactor.submit { self.look() }
    }

    package var longest: Duration { state.withLock { $0.longest } }
    /// The number of measurements so far.
    package var rounds: Int { state.withLock { $0.rounds } }

    /// Resets the measurement.
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
