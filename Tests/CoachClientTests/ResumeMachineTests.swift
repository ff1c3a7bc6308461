import GatewayAPI
import Testing

@testable import CoachClient

@Suite("The resume machine")
struct ResumeMachineTests {
    private var machine = ResumeMachine(policy: RetryPolicy())
    private let lost = CoachError.connectionLost("cut")
    private let overloaded = CoachError(Transcript.failure(.overloaded))

    private mutating func token(_ content: String, _ id: Int?) -> ResumeMachine.Action {
        machine.event(.token(content: content), id: id, jitter: 0)
    }

    private mutating func begin() {
        machine.accepted()
        #expect(machine.event(.start(Transcript.start), id: 0, jitter: 0) == .deliver(.start(Transcript.start)))
    }

    @Test("before the start the message is sent again, after it the turn is resumed after the last byte")
    mutating func whatIsNext() {
        #expect(machine.next == .start)
        #expect(machine.lost(lost, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.next == .start)
        begin()
        #expect(machine.next == .resume(turn: Transcript.turn, after: 0))
        #expect(token("Hé", 3) == .deliver(.token(content: "Hé")))
        #expect(machine.next == .resume(turn: Transcript.turn, after: 3))
    }

    @Test("text of an earlier attempt is not continued with text of a later one")
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
        // Without text of the first attempt the second one is accepted.
        machine = ResumeMachine(policy: RetryPolicy())
        begin()
        #expect(machine.event(.start(next), id: 0, jitter: 0) == .ignore)
        #expect(token("Hi", 2) == .deliver(.token(content: "Hi")))
    }

    @Test("a cursor before the text that it follows is unreadable, whatever number it is", arguments: [Int.min, -1, 0, 4])
    mutating func impossibleCursor(id: Int) {
        begin()
        #expect(token("Hello", id) == .reconnect(after: .seconds(1)))
        #expect(machine.next == .resume(turn: Transcript.turn, after: 0))
    }

    @Test("events that a resumed stream repeats are not delivered twice")
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

    @Test("a safety card that differs from the last one is delivered")
    mutating func graverCard() {
        begin()
        _ = machine.event(.safety(Transcript.card), id: 0, jitter: 0)
        var graver = Transcript.card
        graver.tier = 4
        #expect(machine.event(.safety(graver), id: 0, jitter: 0) == .deliver(.safety(graver)))
    }

    @Test("only the new bytes of an overlapping token are delivered")
    mutating func overlap() {
        begin()
        #expect(token("Hé", 3) == .deliver(.token(content: "Hé")))
        #expect(token("éllo", 6) == .deliver(.token(content: "llo")))
        #expect(machine.received == 6)
    }

    @Test("after a gap the stream is resumed instead of continued")
    mutating func hole() {
        begin()
        _ = token("Hé", 3)
        guard case .reconnect = token("o", 7) else { return #expect(Bool(false), "the hole was accepted") }
        #expect(machine.next == .resume(turn: Transcript.turn, after: 3))
    }

    @Test("an end beyond the received text is a gap too")
    mutating func holeBeforeTheEnd() {
        begin()
        _ = token("Hé", 3)
        guard case .reconnect = machine.event(.done(Transcript.done), id: 9, jitter: 0) else { return #expect(Bool(false), "it ended") }
        _ = token("llo th", 9)
        #expect(machine.event(.done(Transcript.done), id: 9, jitter: 0) == .finish(.done(Transcript.done)))
    }

    @Test("tokens without an id follow each other")
    mutating func withoutPositions() {
        begin()
        #expect(token("Hé", nil) == .deliver(.token(content: "Hé")))
        #expect(token("llo", nil) == .deliver(.token(content: "llo")))
        #expect(machine.received == 6)
    }

    @Test("three consecutive connections without progress are the last; progress resets the count")
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

    @Test("a repeated start alone is not progress")
    mutating func startIsNoProgress() {
        begin()
        _ = machine.lost(lost, jitter: 0)
        for _ in 1...2 {
            machine.accepted()
            #expect(machine.event(.start(Transcript.start), id: 0, jitter: 0) == .ignore)
            #expect(machine.lost(lost, jitter: 0) != .fail(lost))
        }
        guard case .fail = machine.lost(lost, jitter: 0) else { return #expect(Bool(false), "it goes on for ever") }
    }

    @Test("an expired token is renewed once without a pause, and again after the next accepted request")
    mutating func expiredToken() {
        let expired = CoachError(Transcript.failure(.tokenExpired, retryable: false))
        #expect(machine.rejected(expired, jitter: 0) == .reconnect(after: .zero))
        #expect(machine.rejected(expired, jitter: 0) == .fail(expired))
        machine = ResumeMachine(policy: RetryPolicy())
        #expect(machine.rejected(expired, jitter: 0) == .reconnect(after: .zero))
        begin()
        #expect(machine.rejected(expired, jitter: 0) == .reconnect(after: .zero))
    }

    @Test("a retryable error is repeated, any other ends the stream")
    mutating func rejections() {
        #expect(machine.rejected(overloaded, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.rejected(overloaded, jitter: 0) == .reconnect(after: .seconds(2)))
        #expect(machine.rejected(overloaded, jitter: 0) == .fail(overloaded))
        machine = ResumeMachine(policy: RetryPolicy())
        let quota = CoachError(Transcript.failure(.quotaExhausted, retryable: false))
        #expect(machine.rejected(quota, jitter: 0) == .fail(quota))
    }

    @Test("an error event after the start ends the stream with the number of kept bytes")
    mutating func errorEvent() {
        begin()
        _ = token("Hé", 3)
        var error = CoachError(Transcript.failure(partial: true, kept: 1))
        error.turnID = Transcript.turn
        #expect(machine.event(.error(Transcript.failure(partial: true, kept: 1)), id: 3, jitter: 0) == .fail(error))
        #expect(error.partial)
        #expect(error.keptBytes == 1)
    }

    @Test("after a retryable error event before the start the message is sent again")
    mutating func errorBeforeStart() {
        #expect(machine.event(.error(Transcript.failure()), id: nil, jitter: 0) == .reconnect(after: .seconds(1)))
        #expect(machine.next == .start)
    }

    @Test("a turn that is resumed later delivers its start and only the following text")
    mutating func takenUpLater() {
        machine = ResumeMachine(resuming: Transcript.turn, received: 3, policy: RetryPolicy())
        #expect(machine.next == .resume(turn: Transcript.turn, after: 3))
        begin()
        #expect(token("éllo", 6) == .deliver(.token(content: "llo")))
    }

    @Test("a stream of another turn, or text before a start, is an error")
    mutating func strangeStreams() {
        guard case .fail = token("x", 1) else { return #expect(Bool(false), "text before the start") }
        machine = ResumeMachine(resuming: Transcript.id(9), received: 0, policy: RetryPolicy())
        guard case .fail = machine.event(.start(Transcript.start), id: 0, jitter: 0) else { return #expect(Bool(false), "another turn") }
    }
}
