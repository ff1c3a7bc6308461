import GatewayAPI
import Testing

@testable import CoachClient

@Suite("The resume machine")
struct ResumeMachineTests {
    private var machine = ResumeMachine(.repeatable, policy: RetryPolicy())
    private let lost = CoachError.connectionLost("cut")
    private let overloaded = CoachError(Transcript.failure(.overloaded))

    private mutating func token(_ content: String, _ id: Int?) -> ResumeMachine.Reaction {
        machine.event(.token(content: content), id: id, jitter: 0)
    }

    private mutating func begin() {
        machine.opened()
        #expect(machine.event(.start(Transcript.start), id: 0, jitter: 0) == .deliver(.start(Transcript.start)))
    }

    @Test("before the start the message is sent again, after it the turn is resumed behind the last byte")
    mutating func whatIsNext() {
        #expect(machine.next == .open)
        #expect(machine.lost(lost, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.next == .open)
        begin()
        #expect(machine.next == .resume(turn: Transcript.turn, after: 0))
        #expect(token("Hé", 3) == .deliver(.token(content: "Hé")))
        #expect(machine.next == .resume(turn: Transcript.turn, after: 3))
    }

    @Test("text of an earlier attempt is not continued with another's")
    mutating func anotherAttempt() {
        begin()
        _ = token("Hello", 5)
        _ = machine.lost(lost, jitter: 0)
        var next = Transcript.start
        next.attempt = 2
        guard case .fail(let error) = machine.event(.start(next), id: 0, jitter: 0) else {
            Issue.record("it goes on")
            return
        }
        #expect(error.partial && error.keptBytes == 0 && error.retryable && error.turnID == Transcript.turn)
        // With nothing read there is nothing to mix.
        machine = ResumeMachine(.repeatable, policy: RetryPolicy())
        begin()
        #expect(machine.event(.start(next), id: 0, jitter: 0) == .ignore)
        #expect(token("Hi", 2) == .deliver(.token(content: "Hi")))
    }

    @Test("what a resumed stream repeats is not delivered twice")
    mutating func repetition() {
        begin()
        #expect(machine.event(.safety(Transcript.card), id: 0, jitter: 0) == .deliver(.safety(Transcript.card)))
        #expect(token("Hello", 5) == .deliver(.token(content: "Hello")))
        #expect(machine.event(.usage(Transcript.usage), id: 5, jitter: 0) == .deliver(.usage(Transcript.usage)))
        #expect(machine.lost(lost, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.event(.start(Transcript.start), id: 0, jitter: 0) == .ignore)
        #expect(machine.event(.safety(Transcript.card), id: 0, jitter: 0) == .ignore)
        #expect(token("Hello", 5) == .ignore)
        #expect(token("", 5) == .ignore)
        #expect(machine.event(.usage(Transcript.usage), id: 5, jitter: 0) == .ignore)
    }

    @Test("a graver card than the last one is delivered")
    mutating func graverCard() {
        begin()
        _ = machine.event(.safety(Transcript.card), id: 0, jitter: 0)
        var graver = Transcript.card
        graver.tier = 4
        #expect(machine.event(.safety(graver), id: 0, jitter: 0) == .deliver(.safety(graver)))
    }

    @Test("of an overlapping piece only the new bytes are delivered")
    mutating func overlap() {
        begin()
        #expect(token("Hé", 3) == .deliver(.token(content: "Hé")))
        #expect(token("éllo", 6) == .deliver(.token(content: "llo")))
        #expect(machine.received == 6)
    }

    @Test("a hole is asked for again instead of skipped")
    mutating func hole() {
        begin()
        _ = token("Hé", 3)
        guard case .reconnect = token("o", 7) else { return #expect(Bool(false), "the hole was accepted") }
        #expect(machine.next == .resume(turn: Transcript.turn, after: 3))
    }

    @Test("an end behind what was received is a hole too")
    mutating func holeBeforeTheEnd() {
        begin()
        _ = token("Hé", 3)
        guard case .reconnect = machine.event(.done(Transcript.done), id: 9, jitter: 0) else { return #expect(Bool(false), "it ended") }
        _ = token("llo th", 9)
        #expect(machine.event(.done(Transcript.done), id: 9, jitter: 0) == .finish(.done(Transcript.done)))
    }

    @Test("without positions text is taken as it comes")
    mutating func withoutPositions() {
        begin()
        #expect(token("Hé", nil) == .deliver(.token(content: "Hé")))
        #expect(token("llo", nil) == .deliver(.token(content: "llo")))
        #expect(machine.received == 6)
    }

    @Test("three connections in a row without news are enough; news begins the count anew")
    mutating func attempts() {
        begin()
        for round in 1...10 {
            #expect(token("x", round) == .deliver(.token(content: "x")))
            #expect(machine.lost(lost, jitter: 0) == .reconnect(after: .seconds(1)))
        }
        #expect(machine.lost(lost, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.lost(lost, jitter: 0) == .reconnect(after: .seconds(2)))
        var error = lost
        error.turnID = Transcript.turn
        error.partial = true
        #expect(machine.lost(lost, jitter: 0) == .fail(error))
    }

    @Test("a repeated start alone is no news")
    mutating func startIsNoNews() {
        begin()
        _ = machine.lost(lost, jitter: 0)
        for _ in 1...2 {
            machine.opened()
            #expect(machine.event(.start(Transcript.start), id: 0, jitter: 0) == .ignore)
            #expect(machine.lost(lost, jitter: 0) != .fail(lost))
        }
        guard case .fail = machine.lost(lost, jitter: 0) else { return #expect(Bool(false), "it goes on for ever") }
    }

    @Test("an expired token is replaced once, at once, and again after the next success")
    mutating func expiredToken() {
        let expired = CoachError(Transcript.failure(.tokenExpired, retryable: false))
        #expect(machine.refused(expired, jitter: 0) == .reconnect(after: .zero))
        #expect(machine.refused(expired, jitter: 0) == .fail(expired))
        machine = ResumeMachine(.repeatable, policy: RetryPolicy())
        #expect(machine.refused(expired, jitter: 0) == .reconnect(after: .zero))
        begin()
        #expect(machine.refused(expired, jitter: 0) == .reconnect(after: .zero))
    }

    @Test("a refusal that may pass is repeated, any other is the end")
    mutating func refusals() {
        #expect(machine.refused(overloaded, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.refused(overloaded, jitter: 0) == .reconnect(after: .seconds(2)))
        #expect(machine.refused(overloaded, jitter: 0) == .fail(overloaded))
        machine = ResumeMachine(.repeatable, policy: RetryPolicy())
        let quota = CoachError(Transcript.failure(.quotaExhausted, retryable: false))
        #expect(machine.refused(quota, jitter: 0) == .fail(quota))
    }

    @Test("an error event after the start ends the stream with what is kept")
    mutating func errorEvent() {
        begin()
        _ = token("Hé", 3)
        var error = CoachError(Transcript.failure(partial: true, kept: 1))
        error.turnID = Transcript.turn
        #expect(machine.event(.error(Transcript.failure(partial: true, kept: 1)), id: 3, jitter: 0) == .fail(error))
        #expect(error.partial)
        #expect(error.keptBytes == 1)
    }

    @Test("an error event before the start is a refusal: the message is sent again")
    mutating func errorBeforeStart() {
        #expect(machine.event(.error(Transcript.failure()), id: nil, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.next == .open)
    }

    @Test("a retry, which is not idempotent, is repeated only when it certainly did nothing")
    mutating func onlyOnce() {
        machine = ResumeMachine(.once, policy: RetryPolicy())
        #expect(machine.refused(overloaded, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.lost(lost, jitter: 0) == .fail(lost))
        machine = ResumeMachine(.once, policy: RetryPolicy())
        let unforeseen = CoachError(Transcript.failure(.unforeseen))
        #expect(machine.refused(unforeseen, jitter: 0) == .fail(unforeseen))
        machine = ResumeMachine(.once, policy: RetryPolicy())
        begin()
        #expect(machine.lost(lost, jitter: 0) == .reconnect(after: .seconds(1)))
    }

    @Test("a turn that is taken up later delivers its start and only what follows")
    mutating func takenUpLater() {
        machine = ResumeMachine(resuming: Transcript.turn, received: 3, policy: RetryPolicy())
        #expect(machine.next == .resume(turn: Transcript.turn, after: 3))
        begin()
        #expect(token("éllo", 6) == .deliver(.token(content: "llo")))
    }

    @Test("another turn's stream, or text before a start, is not believed")
    mutating func strangeStreams() {
        guard case .fail = token("x", 1) else { return #expect(Bool(false), "text before the start") }
        machine = ResumeMachine(resuming: Transcript.id(9), received: 0, policy: RetryPolicy())
        guard case .fail = machine.event(.start(Transcript.start), id: 0, jitter: 0) else { return #expect(Bool(false), "another turn") }
    }
}
