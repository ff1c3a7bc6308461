import Testing

@testable import OutboundHTTP

@Suite("libcurl's timer")
struct TimerMachineTests {
    private let start = ContinuousClock.now
    private func after(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test("0 ms expires at the end of the wake-up, once")
    func zero() {
        var machine = TimerMachine()
        #expect(machine.move(toMilliseconds: 0, at: start) == .atEndOfWakeUp)
        #expect(machine.wakeUpEnds(at: start) == .timeout)
        #expect(machine.wakeUpEnds(at: start) == .nothing)
    }

    @Test("a later deadline keeps the reactor's timer, which is set again when it fires early")
    func movedAway() {
        var machine = TimerMachine()
        #expect(machine.move(toMilliseconds: 100, at: start) == .schedule(.milliseconds(100)))
        #expect(machine.move(toMilliseconds: 100, at: after(50)) == .nothing)
        #expect(machine.fired(at: after(100)) == .schedule(.milliseconds(50)))
        #expect(machine.fired(at: after(150)) == .timeout)
        #expect(machine.fired(at: after(151)) == .nothing)
    }

    @Test("an earlier deadline replaces the reactor's timer")
    func movedNearer() {
        var machine = TimerMachine()
        #expect(machine.move(toMilliseconds: 100, at: start) == .schedule(.milliseconds(100)))
        #expect(machine.move(toMilliseconds: 10, at: start) == .schedule(.milliseconds(10)))
        #expect(machine.fired(at: after(10)) == .timeout)
    }

    @Test("a cancelled timer does nothing")
    func takenBack() {
        var machine = TimerMachine()
        #expect(machine.move(toMilliseconds: 10, at: start) == .schedule(.milliseconds(10)))
        #expect(machine.move(toMilliseconds: -1, at: start) == .nothing)
        #expect(machine.fired(at: after(10)) == .nothing)
        #expect(machine.move(toMilliseconds: 0, at: after(20)) == .atEndOfWakeUp)
        #expect(machine.move(toMilliseconds: -1, at: after(20)) == .nothing)
        #expect(machine.wakeUpEnds(at: after(20)) == .nothing)
    }
}
