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
        var lateRounds = 0
    }

    /// What no event may take: a token would be late.
    package static let limit = Duration.milliseconds(5)

    private let reactor: Reactor
    private let state = Mutex(State())

    /// Starts a measurement every millisecond, until the reactor stops.
    package init(_ reactor: Reactor) {
        self.reactor = reactor
        reactor.submit { self.look() }
    }

    package var longest: Duration { state.withLock { $0.longest } }
    /// Whether at most one measurement in a hundred is above `limit`: a virtual machine takes the processor away for milliseconds now and then,
    /// which counts as the thread's own time.
    package var isInTime: Bool { state.withLock { $0.lateRounds * 100 <= $0.rounds } }
    /// The number of measurements so far.
    package var rounds: Int { state.withLock { $0.rounds } }

    /// Resets the measurement.
    package func reset() {
        state.withLock {
            $0.longest = .zero
            $0.rounds = 0
            $0.lateRounds = 0
        }
    }

    private func look() {
        let now = threadProcessorTime()
        state.withLock { state in
            if let last = state.last {
                state.longest = max(state.longest, now - last)
                if now - last >= Self.limit { state.lateRounds += 1 }
            }
            state.last = now
            state.rounds += 1
        }
        reactor.schedule(after: .milliseconds(1)) { self.look() }
    }
}
