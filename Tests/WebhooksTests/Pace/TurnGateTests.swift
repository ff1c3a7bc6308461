import CoachCore
import Synchronization
import Testing

@testable import Webhooks

@Suite("Gate for events beside turns")
struct TurnGateTests {
    @Test("no event waits while no turn begins")
    func open() async {
        let gate = TurnGate(longestWait: .seconds(60))
        let start = ContinuousClock.now
        await gate.pass()
        gate.turnBegins()
        gate.turnBegan()
        await gate.pass()
        #expect(ContinuousClock.now - start < .seconds(30))
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
        #expect(gate.waitingCount == 0)
        for event in events { await event.value }
    }

    @Test("however many turns begin, each event passes after the longest wait")
    func bounded() async {
        let gate = TurnGate(longestWait: .milliseconds(30))
        gate.turnBegins()
        for _ in 0..<3 {
            let start = ContinuousClock.now
            await gate.pass()
            let wait = ContinuousClock.now - start
            #expect(wait >= .milliseconds(30) && wait < .seconds(3))
        }
    }

    @Test("the time of those who have passed does not end for those who come later")
    func later() async throws {
        // Long enough that a busy machine does not end the first one's time before the second comes.
        let longestWait = Duration.seconds(2)
        let gate = TurnGate(longestWait: longestWait)
        gate.turnBegins()
        async let first: Void = gate.pass()
        while gate.waitingCount == 0 { await Task.yield() }
        let start = ContinuousClock.now
        gate.turnBegan()
        await first
        // Some of the time of the first is over.
        try await Task.sleep(for: .milliseconds(100))
        gate.turnBegins()
        let second = ContinuousClock.now
        await gate.pass()
        #expect(ContinuousClock.now - second >= longestWait && second - start < longestWait)
    }

    @Test("an event is stored when the turn that begins has begun, or failed to", arguments: [true, false])
    func watched(succeeds: Bool) async throws {
        let pacer = IntakePacer(eventsPerSecond: 1000, gate: TurnGate(longestWait: .seconds(60)))
        let (ended, ends) = AsyncStream<Void>.makeStream()
        let (began, begins) = AsyncStream<Void>.makeStream()
        let turns = pacer.watch(
            TurnRepository(
                begin: { _, _, _ in
                    begins.yield()
                    for await _ in ended { break }
                    guard succeeds else { throw CancellationError() }
                    return .rejected(Rejection(reason: .quotaExhausted), RateLimit(limit: 1, remaining: 0, resetAt: 0))
                },
                repeated: { _, _ in nil }, retry: { _, _ in throw CancellationError() },
                repeatedRetry: { _, _ in nil }, raiseRisk: { _, _, _ in }, finish: { _ in .finalized }, abandon: { _, _ in }))
        let turn = Task {
            try await turns.begin(
                Caller(userID: .random(), claims: "{}", expiresAt: .distantFuture), TurnRequest(message: "Hi"),
                MessageAssessment(risk: .calm, domains: .zero))
        }
        for await _ in began { break }
        let isStored = Atomic(false)
        async let stored = pacer.store { isStored.store(true, ordering: .relaxed) }
        while pacer.gate.waitingCount == 0 { await Task.yield() }
        let isEarly = isStored.load(ordering: .relaxed)
        #expect(!isEarly)
        ends.yield()
        #expect(try await stored != nil)
        _ = try? await turn.value
    }
}
