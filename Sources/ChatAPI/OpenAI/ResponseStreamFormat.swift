import CoachCore
import EventStream
import HTTPEdge
import JSON
import TokenRelay

/// A turn as the events of a streamed response (OpenAI's Responses). Can resume after any event.
struct ResponseStreamFormat: StreamFormat {
    private let object: ResponseObject
    private let numbers: SequenceNumbers
    /// The number of the last event that the client has; -1: none.
    private let last: Int
    /// Whether each Unicode scalar is an event of its own. A helper of the official SDKs resumes by asking for all events and dropping those up to the number
    /// that it has: a longer piece that ends behind that number would repeat text.
    private let splitsText: Bool
    /// A text event up to its number, and from behind the number up to its text.
    private let beforeNumber: [UInt8]
    private let beforeText: [UInt8]

    init(_ object: ResponseObject, after last: Int? = nil, splitsText: Bool = false) {
        self.object = object
        self.last = last ?? -1
        self.splitsText = splitsText
        numbers = SequenceNumbers(hasCard: !object.card.isEmpty, attempt: object.turn.facts.identity.attempt)
        let name = "response.output_text.delta"
        beforeNumber = Array("event: \(name)\ndata: {\"type\":\"\(name)\",\"sequence_number\":".utf8)
        beforeText = Array(
            ",\"item_id\":\"\(object.itemID)\",\"output_index\":0,\"content_index\":0,\"logprobs\":[],\"delta\":\"".utf8)
    }

    /// An event has about 230 bytes beside its text, so 64 of them are about 15 KiB.
    var pieceBytes: Int { splitsText ? 64 : Self.usualPieceBytes }

    /// Where the client stands.
    var cursor: Cursor { numbers.cursor(after: last) }

    /// Whether the client names an event that the response, which ended normally, has not.
    var isBeyondTheEnd: Bool {
        let turn = object.turn
        guard let ending = turn.ending, endedNormally(ending) else { return false }
        return isLost(closings: closings(ending, turn.releasedBytes), length: turn.releasedBytes)
    }

    private func endedNormally(_ ending: TurnEnding) -> Bool {
        ending.finishReason != nil && !ending.isByCrash && object.turn.facts.identity.attempt == 1
    }

    private func closings(_ ending: TurnEnding, _ length: Int) -> Range<Int> {
        numbers.closings(after: endedNormally(ending) ? length : nil)
    }

    /// Whether the client has neither a closing event nor a text that ends within so many bytes: what it has is lost.
    private func isLost(closings: Range<Int>, length: Int) -> Bool { cursor.position > length && !closings.contains(last) }

    func appendOpeningEvents(into output: inout [UInt8]) {
        append(0, "response.created", into: &output) { writeResponse(nil, isEmpty: true, to: &$0) }
        append(1, "response.in_progress", into: &output) { writeResponse(nil, isEmpty: true, to: &$0) }
        append(2, "response.output_item.added", into: &output) { writer in
            writer.member("output_index", 0)
            writer.key(literal: "item")
            object.writeItem(nil, text: nil, to: &writer)
        }
        append(3, "response.content_part.added", into: &output) { writePart("", to: &$0) }
        if !object.card.isEmpty, last < 4 { object.card.utf8.withContiguousStorageIfAvailable { appendText($0, number: 4, into: &output) } }
    }

    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) {
        guard splitsText else { return appendText(piece, number: numbers.text(endingAt: cursor), into: &output) }
        let start = cursor - piece.count
        var scalar = 0
        while scalar < piece.count {
            var end = scalar + 1
            while end < piece.count, piece[end] & 0xC0 == 0x80 { end += 1 }
            appendText(
                UnsafeBufferPointer(rebasing: piece[scalar..<end]), number: numbers.text(endingAt: start + end), into: &output)
            scalar = end
        }
    }

    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8]) {
        let closings = closings(ending, keptBytes)
        guard !isLost(closings: closings, length: keptBytes) else {
            return append(last + 1, "error", into: &output) { writer in
                writer.member("code", "server_error")
                writer.member("message", object.message(of: TerminalEvents.lost))
                writer.member("param", nil as String?)
            }
        }
        let text = object.text
        append(closings.lowerBound, "response.output_text.done", into: &output) { writer in
            writePlace(to: &writer)
            writer.member("text", text)
            writer.key(literal: "logprobs")
            writer.array { _ in }
        }
        append(closings.lowerBound + 1, "response.content_part.done", into: &output) { writePart(text, to: &$0) }
        append(closings.lowerBound + 2, "response.output_item.done", into: &output) { writer in
            writer.member("output_index", 0)
            writer.key(literal: "item")
            object.writeItem(ending, text: text, to: &writer)
        }
        let name: StaticString =
            switch object.status(ending) {
            case .inProgress, .completed: "response.completed"
            // The protocol has no event for a cancelled response.
            case .incomplete, .cancelled: "response.incomplete"
            case .failed: "response.failed"
            }
        append(closings.lowerBound + 3, name, into: &output) { writeResponse(ending, isEmpty: false, to: &$0) }
    }

    func appendHeartbeat(into output: inout [UInt8]) { EventStreamEncoder.appendPing(into: &output) }

    /// Nothing: the official Python client takes a `retry:` without data for an event, and fails.
    func appendRetry(into output: inout [UInt8]) {}

    // MARK: Events

    /// Appends an event that the client does not have yet.
    private func append(_ number: Int, _ name: StaticString, into output: inout [UInt8], _ members: (inout JSONWriter) -> Void) {
        guard number > last else { return }
        output.append(contentsOf: "event: \(name)\ndata: ".utf8)
        JSONWriter.append(to: &output) { writer in
            writer.object { writer in
                writer.member("type", "\(name)")
                writer.member("sequence_number", number)
                members(&writer)
            }
        }
        EventStreamEncoder.endEvent(into: &output)
    }

    private func appendText(_ piece: UnsafeBufferPointer<UInt8>, number: Int, into output: inout [UInt8]) {
        output.append(contentsOf: beforeNumber)
        JSONWriter.appendDecimal(number, into: &output)
        output.append(contentsOf: beforeText)
        JSONWriter.appendEscaped(piece, to: &output)
        output.append(contentsOf: "\"}\n\n".utf8)
    }

    private func writeResponse(_ ending: TurnEnding?, isEmpty: Bool, to writer: inout JSONWriter) {
        writer.key(literal: "response")
        object.write(ending, isEmpty: isEmpty, to: &writer)
    }

    private func writePlace(to writer: inout JSONWriter) {
        writer.member("item_id", object.itemID)
        writer.member("output_index", 0)
        writer.member("content_index", 0)
    }

    private func writePart(_ text: String, to writer: inout JSONWriter) {
        writePlace(to: &writer)
        writer.key(literal: "part")
        ResponseObject.writePart(text, to: &writer)
    }
}
