import CoachCore
import EventStream
import GatewayAPI
import JSON
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

    @Test("has an event for each scalar when a client asks for all: one that drops the events up to any number has exactly the rest")
    func dropped() throws {
        let text = "Hé, \"you\":\u{2028}\n🌱 " + String(repeating: "\u{1}", count: 200)
        let turn = LiveTurn(replaying: .sample, content: text, ending: TurnEnding(status: .complete, finishReason: .stop, bill: nil))
        let format = ResponseStreamFormat(ResponseObject(turn: turn, model: "coach", card: "", isBackground: false), splitsText: true)
        var deltas: [(number: Int64, text: String)] = []
        var parser = EventStreamParser()
        var cursor = Cursor(after: 0)
        while true {
            var bytes: [UInt8] = []
            let step = turn.step(&cursor, maximum: format.pieceBytes) { format.appendText($0, cursor: $1, into: &bytes) }
            guard case .text = step else { break }
            #expect(bytes.count < 20 * 1024, "of one write")
            try parser.feed(bytes) { event in
                guard let json = try? JSONValue(parsing: event.data), let number = json["sequence_number"]?.integer else { return }
                deltas.append((number, json["delta"]?.string ?? ""))
            }
        }
        let numbers = SequenceNumbers(hasCard: false)
        var shown = ""
        for scalar in text.unicodeScalars {
            shown.unicodeScalars.append(scalar)
            let last = numbers.text(endingAt: shown.utf8.count)
            let rest = deltas.filter { $0.number > last }.map { $0.text }.joined()
            #expect(Array((shown + rest).utf8) == Array(text.utf8), "after \(last)")
        }
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

    @Test("tells a user in danger that text is lost with the crisis resources")
    func lostInDanger() {
        let turn = turn(interrupted)
        let resources = StreamSafety(severity: .concern, tier: 2, categories: [], resources: [], message: "Help is near.")
        let object = ResponseObject(turn: turn, model: "coach", card: "", isBackground: true, failureSafety: resources)
        let format = ResponseStreamFormat(object, after: Int(Int32.max))
        var bytes: [UInt8] = []
        format.appendTerminalEvents(interrupted, keptBytes: turn.releasedBytes, cursor: format.cursor.position, into: &bytes)
        let sent = String(decoding: bytes, as: UTF8.self)
        #expect(sent.hasPrefix("event: error") && sent.contains("Help is near."), "\(sent)")
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
