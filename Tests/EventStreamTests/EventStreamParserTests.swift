import EventStream
import TestSupport
import Testing

struct EventStreamParserTests {
    @Test("CR, LF and CRLF end lines alike", arguments: ["\n", "\r", "\r\n"])
    func lineEnds(_ end: String) throws {
        let events = try read("event: a\(end)data: 1\(end)data: 2\(end)\(end)data: 3\(end)\(end)")
        #expect(events == [event("1\n2", name: "a"), event("3")])
    }

    @Test("a CRLF split between two reads is one line end")
    func splitCRLF() throws {
        let events = try read(["data: 1\r", "\ndata: 2\r", "\n\r", "\ndata: 3\n\n"].map { Array($0.utf8) })
        #expect(events == [event("1\n2"), event("3")])
    }

    @Test("an event ended by CR is dispatched without waiting for the next byte")
    func carriageReturnDispatches() throws {
        var parser = EventStreamParser()
        var count = 0
        try parser.feed(Array("data: 1\r\r".utf8)) { _ in count += 1 }
        #expect(count == 1)
    }

    @Test("a leading byte-order mark is skipped, a later one is content")
    func byteOrderMark() throws {
        #expect(try read("\u{FEFF}data: 1\n\ndata: \u{FEFF}2\n\n") == [event("1"), event("\u{FEFF}2")])
        #expect(try read([[0xEF], [0xBB], [0xBF], Array("data: 1\n\n".utf8)]) == [event("1")])
    }

    @Test("one space after the colon is not part of the value, a second one is")
    func spaceAfterColon() throws {
        #expect(try read("data:a\n\ndata: b\n\ndata:  c\n\n") == [event("a"), event("b"), event(" c")])
    }

    @Test("data without a value is an event with empty data, a block without data is none")
    func emptyData() throws {
        #expect(try read("data\n\n\n\nevent: x\n\ndata:\ndata:\n\n") == [event(""), event("\n")])
    }

    @Test("comments and unknown lines are ignored and do not end an event")
    func ignoredLines() throws {
        #expect(try read(": ping\n\ndata: 1\n:\n{\"error\":1}\ndata: 2\n\n") == [event("1\n2")])
    }

    @Test("an id belongs to its own event, and a block without data is no event")
    func ids() throws {
        #expect(try read("id: 5\ndata: a\n\ndata: b\n\nid: 9\n\ndata: c\n\n") == [event("a", id: "5"), event("b"), event("c")])
    }

    @Test("an id with U+0000 is ignored, an id without a value is empty")
    func strangeIDs() throws {
        #expect(try read("id: 5\nid: a\0b\ndata: 1\n\nid\ndata: 2\n\n") == [event("1", id: "5"), event("2", id: "")])
    }

    @Test("retry counts only when it is all digits and fits")
    func retry() throws {
        let digits = try read("retry: 500\nretry: 5s\nretry:\nretry: 99999999999999999999\ndata: a\n\n")
        #expect(digits == [event("a", retry: 500)])
    }

    @Test("a last event without its blank line is delivered")
    func incompleteEvent() throws {
        for cut in ["data: 1\n\ndata: 2", "data: 1\n\ndata: 2\n", "data: 1\n\ndata: 2\r"] {
            #expect(try read(cut) == [event("1"), event("2")])
        }
    }

    @Test("a parser that was finished reads a second stream, byte-order mark included")
    func secondStream() throws {
        var parser = EventStreamParser()
        var data: [String] = []
        for _ in 0..<2 {
            try parser.feed("\u{FEFF}data: a\n\ndata: cut".utf8) { data.append(text($0.data)) }
            try parser.finish { data.append(text($0.data)) }
        }
        #expect(data == ["a", "cut", "a", "cut"])
    }

    @Test("a line of the limit passes, one byte more is an error at every split, and the parser stays failed")
    func longLines() throws {
        let fitting = Array("data: 56789\r\n\r\n".utf8)
        let tooLong = Array("data: a\n\ndata: 567890\n\n".utf8)
        for cut in 0...fitting.count {
            #expect(try read([Array(fitting[..<cut]), Array(fitting[cut...])], limit: 11) == [event("56789")])
        }
        for cut in 0...tooLong.count {
            var parser = EventStreamParser(limit: 11)
            var events = 0
            #expect(throws: EventStreamError.tooLong(limit: 11)) {
                try parser.feed(tooLong[..<cut]) { _ in events += 1 }
                try parser.feed(tooLong[cut...]) { _ in events += 1 }
            }
            #expect(events == 1)
            #expect(throws: EventStreamError.tooLong(limit: 11)) { try parser.feed([10]) { _ in } }
        }
    }

    @Test("many short data lines together cannot exceed the limit")
    func longEvents() throws {
        #expect(throws: EventStreamError.tooLong(limit: 100)) {
            try read(String(repeating: "data: 0123456789\n", count: 20), limit: 100)
        }
    }

    @Test("a line of 200 KB arrives whole, whatever the read size")
    func largeLine() throws {
        let body = String(repeating: "0123456789", count: 20_000)
        let bytes = Array("data: \(body)\n\n".utf8)
        let pieces = stride(from: 0, to: bytes.count, by: 1_460).map { Array(bytes[$0..<min($0 + 1_460, bytes.count)]) }
        #expect(try read(pieces, limit: EventStreamParser.defaultLimit) == [event(body)])
    }

    @Test("a line that is no field and no comment is passed to a caller who asks for it, between the events, however the stream is cut")
    func unknownLines() throws {
        let stream = "data: 1\n\n{\"error\":1}\r\n: ping\nx: y\n\ndata: 3\n\nend"
        #expect(try read(stream) == [event("1"), event("3")])
        for pieces in [[Array(stream.utf8)], stream.utf8.map { [$0] }] {
            var parser = EventStreamParser()
            var found: [String] = []
            for piece in pieces {
                try piece.withUnsafeBytes { bytes in
                    try parser.feedData(bytes) {
                        found.append(text($0))
                    } onUnknownLine: {
                        found.append("line " + text($0))
                    }
                }
            }
            try parser.finish {
                found.append(text($0.data))
            } onUnknownLine: {
                found.append("line " + text($0))
            }
            #expect(found == ["1", #"line {"error":1}"#, "line x: y", "3", "line end"])
        }
    }

    @Test("an event that its receiver keeps is not changed by the next one")
    func keptEvents() throws {
        var kept: [ServerSentEvent] = []
        var parser = EventStreamParser()
        try parser.feed("data: first\n\ndata: 2\n\n".utf8) { kept.append($0) }
        #expect(kept.map { text($0.data) } == ["first", "2"])
    }
}
