import Testing

@testable import Identity

@Suite("ReloadGate")
struct ReloadGateTests {
    private let start = ContinuousClock.now
    private func gate() -> ReloadGate { ReloadGate(unknownKeyPause: .seconds(10)) }

    @Test("one reload runs at a time, and other callers wait for it")
    func singleFlight() {
        var gate = gate()
        #expect(gate.unknownKey(at: start) == .start)
        #expect(gate.unknownKey(at: start) == .join)
        #expect(gate.due() == .join)
    }

    @Test("unknown keys start at most one reload in 10 s, besides scheduled reloads")
    func pause() {
        var gate = gate()
        #expect(gate.unknownKey(at: start) == .start)
        gate.finished()
        #expect(gate.unknownKey(at: start + .milliseconds(9_999)) == .skip)
        #expect(gate.due() == .start)
        gate.finished()
        #expect(gate.unknownKey(at: start + .seconds(10)) == .start)
    }

    @Test("a scheduled reload does not count against the limit for unknown keys")
    func scheduleIsSeparate() {
        var gate = gate()
        #expect(gate.due() == .start)
        gate.finished()
        #expect(gate.unknownKey(at: start) == .start)
    }

    @Test("after a failure the source is read sooner, and never later than the interval")
    func schedule() {
        let slow = KeySource(interval: .seconds(600)) { [] }.schedule
        #expect(slow.every == .seconds(600) && slow.retryEvery == .seconds(5))
        #expect(KeySource(interval: .seconds(2)) { [] }.schedule.retryEvery == .seconds(2))
    }
}
