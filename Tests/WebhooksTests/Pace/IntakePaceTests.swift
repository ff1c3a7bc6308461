import CoachCore
import Foundation
import Testing

@testable import Webhooks

@Suite("Pace of the intake")
struct IntakePaceTests {
    private static let rate = 540

    @Test("500 events a second never wait, however slow turns are, also after a second in which the database stood still")
    func ordinary() {
        var chat = Simulation(rate: Self.rate)
        chat.delayPerEvent = 0.01
        chat.runTurns(for: .seconds(2))
        var waits = chat.send(every: .seconds(1) / 500, for: .seconds(30))
        chat.stopDatabase(for: .seconds(1))
        waits += chat.send(every: .seconds(1) / 500, for: .seconds(30))
        #expect(waits.count == 30_000 && waits.allSatisfy { $0 == .zero })
    }

    @Test("a replay to a machine that cannot store as many events as the rate allows yields too")
    func slowMachine() {
        var chat = Simulation(rate: Self.rate)
        chat.eventsPerSecond = 280
        chat.delayPerEvent = 2.0 / 280
        chat.runTurns(for: .seconds(2))
        _ = chat.replay(connections: 32, for: .seconds(5))
        let events = chat.replay(connections: 32, for: .seconds(20))
        #expect((Self.rate / 4...Self.rate / 4 + 50).contains(events.count / 20), "\(events.count / 20) events a second")
    }

    @Test("a replay yields until turns begin in at most twice the time, and is faster again when nobody chats")
    func replay() {
        var chat = Simulation(rate: Self.rate)
        // At 540 a second a turn takes three times as long as alone, at 270 twice as long.
        chat.delayPerEvent = 2.0 / 540
        chat.runTurns(for: .seconds(2))
        _ = chat.replay(connections: 32, for: .seconds(5))
        let yielding = chat.replay(connections: 32, for: .seconds(20))
        #expect((Self.rate / 4...300).contains(yielding.count / 20), "\(yielding.count / 20) events a second")
        chat.turnsPerSecond = 0
        _ = chat.replay(connections: 32, for: .seconds(6))
        let alone = chat.replay(connections: 32, for: .seconds(10))
        #expect((530...550).contains(alone.count / 10), "\(alone.count / 10) events a second")
    }

    @Test("a replay that slows turns down a little yields a little")
    func slight() {
        // At 540 a second a turn takes 1.3 times as long as alone.
        var chat = Simulation(rate: Self.rate)
        chat.runTurns(for: .seconds(2))
        _ = chat.replay(connections: 32, for: .seconds(5))
        let events = chat.replay(connections: 32, for: .seconds(20))
        #expect((Self.rate * 3 / 4...Self.rate).contains(events.count / 20), "\(events.count / 20) events a second")
    }

    @Test("a replay that does not slow turns down soon has the whole rate")
    func harmless() {
        var chat = Simulation(rate: Self.rate)
        chat.delayPerEvent = 0
        chat.runTurns(for: .seconds(2))
        _ = chat.replay(connections: 32, for: .seconds(5))
        let events = chat.replay(connections: 32, for: .seconds(20))
        #expect(events.count / 20 >= Self.rate - 40, "\(events.count / 20) events a second")
    }

    @Test("until it is known how long turns usually take, a replay yields as far as it may")
    func unknown() {
        var chat = Simulation(rate: Self.rate)
        chat.delayPerEvent = 0
        _ = chat.replay(connections: 32, for: .seconds(5))
        let events = chat.replay(connections: 32, for: .seconds(20))
        #expect((Self.rate / 4...Self.rate / 4 + 25).contains(events.count / 20), "\(events.count / 20) events a second")
    }

    @Test("an event waits at most half a second longer than without turns, and less than a second", arguments: [32, 64, 128, 256])
    func manyConnections(connections: Int) {
        var chat = Simulation(rate: Self.rate)
        chat.delayPerEvent = 0.01
        chat.runTurns(for: .seconds(2))
        let waits = chat.replay(connections: connections, for: .seconds(25))
        // Until the next of the moments at which events end to wait.
        let limit = Duration.milliseconds(500 + 20) + .seconds(connections) / Self.rate
        #expect(limit < .seconds(1) && waits.allSatisfy { $0 <= limit }, "\(waits.max() ?? .zero)")
    }

    @Test("of more events than the rate allows those of a second do not wait, the next wait at most five seconds, and the rest is refused")
    func excess() {
        let now = ContinuousClock.now
        var pace = IntakePace(eventsPerSecond: 100, at: now)
        let waits = (0..<1000).map { _ in pace.admit(at: now) }
        #expect(waits.prefix(100).allSatisfy { $0 == .zero })
        // Two at a time, every 20 ms.
        #expect(waits[100..<600] == (1...500).map { .milliseconds(($0 + 1) / 2 * 20) }[...])
        #expect(waits.suffix(400).allSatisfy { $0 == nil })
        // Those that were refused have no place in the queue.
        #expect(pace.admit(at: now + .seconds(1)) == .seconds(4) + .milliseconds(20))
    }

    @Test("the pacer learns of turns from the repository that it watches")
    func watched() async throws {
        let pacer = IntakePacer(eventsPerSecond: 5)
        let turns = pacer.watch(
            TurnRepository(
                begin: { _, _, _ in .rejected(Rejection(reason: .quotaExhausted), RateLimit(limit: 1, remaining: 0, resetAt: 0)) },
                repeated: { _, _ in nil }, retry: { _, _ in throw CancellationError() },
                repeatedRetry: { _, _ in nil }, raiseRisk: { _, _, _ in }, finish: { _ in .finalized }, abandon: { _, _ in }))
        let caller = Caller(userID: .random(), claims: "{}", expiresAt: .distantFuture)
        let start = ContinuousClock.now
        // Five do not wait. The next one waits for 200 ms, and the last one for 800 ms more, which would be 200 without turns.
        for number in 0..<7 {
            for _ in 0..<(number == 5 ? 64 : 0) {
                _ = try await turns.begin(caller, TurnRequest(message: "Hi"), MessageAssessment(risk: .calm, domains: .zero))
            }
            let stored = try await pacer.store { number }
            #expect(stored == number)
        }
        #expect(ContinuousClock.now - start >= .milliseconds(900))
    }
}
