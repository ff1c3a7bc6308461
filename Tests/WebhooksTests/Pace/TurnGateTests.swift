import Testing

@testable import Webhooks

@Suite("Gate for events beside turns")
struct TurnGateTests {
    @Test("no event waits while no turn begins")
    func open() async {
        let gate = TurnGate(longestWait: .seconds(60))
        await gate.pass()
        gate.turnBegins()
        gate.turnBegan()
        await gate.pass()
    }

    @Test("events wait for the last of the turns that begin, and pass together")
    func waiting() async {
        let gate = TurnGate(longestWait: .seconds(60))
        gate.turnBegins()
        gate.turnBegins()
        let events = (0..<8).map { _ in Task { await gate.pass() } }
        while gate.waitingCount < events.count { await Task.yield() }
        gate.turnBegan()
        #expect(gate.waitingCount == events.count)
        gate.turnBegan()
        for event in events { await event.value }
    }

    @Test("however many turns begin, each event passes after the longest wait")
    func bounded() async {
        let gate = TurnGate(longestWait: .milliseconds(30))
        gate.turnBegins()
        for _ in 0..<3 {
            let start = ContinuousClock.now
            await gate.pass()
            #expect(ContinuousClock.now - start >= .milliseconds(30))
        }
    }
}
