import Reactor

/// The timer that libcurl's multi interface requires, on a reactor: performs what `TimerMachine` decides. Use only on the reactor's thread.
final class CurlTimer: DeferredWork {
    /// Called when libcurl's timer expires. Never called from inside a libcurl function.
    var onTimeout: () -> Void = {}

    private let reactor: Reactor
    private var machine = TimerMachine()
    private var timer: TimerHandle?
    /// Whether the reactor will call `continueWork`.
    private var isDeferred = false

    init(reactor: Reactor) {
        self.reactor = reactor
    }

    /// libcurl sets its one timer to this time from now; -1 cancels it. May be called from inside a libcurl function.
    func move(toMilliseconds milliseconds: Int) { perform(machine.move(toMilliseconds: milliseconds, at: .now)) }

    func close() {
        timer?.cancel()
        timer = nil
        onTimeout = {}
    }

    func continueWork() {
        isDeferred = false
        perform(machine.wakeUpEnds(at: .now))
    }

    private func perform(_ action: TimerMachine.Action) {
        switch action {
        case .nothing: break
        case .atEndOfWakeUp:
            guard !isDeferred else { return }
            isDeferred = true
            reactor.continueLater(self)
        case .schedule(let delay):
            timer?.cancel()
            timer = reactor.schedule(after: delay) { [self] in perform(machine.fired(at: .now)) }
        case .timeout: onTimeout()
        }
    }
}
