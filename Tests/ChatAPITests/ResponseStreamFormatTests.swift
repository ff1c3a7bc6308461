import CoachCore
import EventStream
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("The stream of a response")
struct ResponseStreamFormatTests {
    private let text = "Hello, you"

    private func turn(_ ending: TurnEnding, attempt: Int = 1) -> LiveTurn {
        var facts = TurnFacts.sample
        facts.identity.attempt = attempt
        return LiveTurn(replaying: facts, content: text, ending: ending)
    }

    /// The types of the last events of a turn, for a client that has the events up to a number.
    private func lastEvents(_ turn: LiveTurn, after last: Int) throws -> [String] {
        let format = ResponseStreamFormat(ResponseObject(turn: turn, model: "coach", card: "", isBackground: true), after: last)
        var bytes: [UInt8] = []
        let ending = try #require(turn.ending)
        format.appendTerminalEvents(ending, keptBytes: turn.releasedBytes, cursor: format.cursor.position, into: &bytes)
        var types: [String] = []
        var parser = EventStreamParser()
        try parser.feed(bytes) { types.append($0.event ?? "") }
        return types
    }

    private let interrupted = TurnEnding(status: .interrupted, finishReason: nil, bill: nil)

    @Test("tells a client that has more text than a crash left that it is lost, whatever the number of its last event")
    func lost() throws {
        let turn = turn(interrupted)
        let numbers = SequenceNumbers(hasCard: false)
        for ahead in 1...9 {
            #expect(try lastEvents(turn, after: numbers.text(endingAt: text.utf8.count + ahead)) == ["error"], "\(ahead) bytes")
        }
        #expect(try lastEvents(turn, after: Int(Int32.max)) == ["error"])
    }

    @Test("gives a client the closing events that it does not have")
    func closing() throws {
        let turn = turn(interrupted)
        let numbers = SequenceNumbers(hasCard: false)
        let all = try lastEvents(turn, after: numbers.text(endingAt: text.utf8.count))
        #expect(all.count == 4 && all.last == "response.failed")
        for (index, number) in numbers.closings(after: nil).enumerated() {
            #expect(try lastEvents(turn, after: number) == Array(all.dropFirst(index + 1)))
        }
        let whole = self.turn(TurnEnding(status: .complete, finishReason: .stop, bill: nil))
        for (index, number) in numbers.closings(after: text.utf8.count).enumerated() {
            #expect(try lastEvents(whole, after: number).count == 3 - index)
        }
    }

    @Test("tells a client that has the end of an earlier attempt that it is lost")
    func laterAttempt() throws {
        let turn = turn(TurnEnding(status: .complete, finishReason: .stop, bill: nil), attempt: 2)
        for number in SequenceNumbers(hasCard: false).closings(after: nil) { #expect(try lastEvents(turn, after: number) == ["error"]) }
        let own = SequenceNumbers(hasCard: false, attempt: 2)
        #expect(try lastEvents(turn, after: own.closings(after: nil).lowerBound + 2) == ["response.completed"])
    }
}
