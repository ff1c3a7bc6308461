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
        #expect(gate.unknownKey(at: start + .milliseconds(9_999)) == .refuse)
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

    @Test("after failures the source is read sooner, and never later than the interval")
    func delays() {
        let slow = KeySource(interval: .seconds(600)) { [] }
        #expect((0...9).map(slow.delay).map(\.components.seconds) == [600, 5, 10, 20, 40, 80, 160, 320, 600, 600])
        #expect(slow.delay(afterFailures: .max) == .seconds(600))
        #expect(KeySource(interval: .seconds(2)) { [] }.delay(afterFailures: 3) == .seconds(2))
    }
}
