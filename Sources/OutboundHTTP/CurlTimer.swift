import Reactor

/// Runs `TimerMachine` on a reactor. Belongs to its thread.
final class CurlTimer {
    /// libcurl's time has come. Never called inside libcurl.
    var onTimeout: () -> Void = {}

    private let reactor: Reactor
    private var machine = TimerMachine()
    private var timer: TimerHandle?

    init(reactor: Reactor) {
        self.reactor = reactor
    }

    /// Called inside libcurl.
    func move(toMilliseconds milliseconds: Int) { perform(machine.move(toMilliseconds: milliseconds, at: .now)) }

    func close() {
        timer?.cancel()
        timer = nil
        onTimeout = {}
    }

    private func perform(_ action: TimerMachine.Action) {
        switch action {
        case .nothing: break
        case .atEndOfWakeUp: reactor.atEndOfWakeUp(ObjectIdentifier(self)) { [self] in perform(machine.wakeUpEnds(at: .now)) }
        case .schedule(let delay):
            timer?.cancel()
            timer = reactor.schedule(after: delay) { [self] in perform(machine.fired(at: .now)) }
        case .timeout: onTimeout()
        }
    }
}
