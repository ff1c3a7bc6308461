import EventStream
import TestSupport
import Testing

struct EventStreamCutTests {
    @Test("every transcript, split at every byte, gives the same events", arguments: Transcripts.all)
    func everyCut(_ transcript: String) throws {
        let bytes = Array(transcript.utf8)
        let whole = try read([bytes])
        #expect(whole.count >= 2)
        for cut in 0...bytes.count {
            let events = try read([Array(bytes[..<cut]), Array(bytes[cut...])])
            #expect(events == whole, "cut at \(cut)")
        }
    }

    @Test("every transcript, one byte at a time, gives the same events", arguments: Transcripts.all)
    func byteWise(_ transcript: String) throws {
        #expect(try read(transcript.utf8.map { [$0] }) == read(transcript))
    }

    @Test("a short transcript, split at every two bytes, gives the same events", arguments: [Transcripts.corners, Transcripts.gateway])
    func everyTwoCuts(_ transcript: String) throws {
        let bytes = Array(transcript.utf8)
        let whole = try read([bytes])
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let pieces = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
                #expect(try read(pieces) == whole, "cut at \(first) and \(second)")
            }
        }
    }

    @Test("the line ends of a transcript do not matter", arguments: ["\r", "\r\n"])
    func otherLineEnds(_ end: String) throws {
        for transcript in [Transcripts.openAI, Transcripts.anthropic, Transcripts.gateway] {
            let other = transcript.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: end)
            #expect(try read(other) == read(transcript))
        }
    }

    @Test("random bytes with many line ends and field names never crash the parser, at any split")
    func randomStreams() throws {
        var generator = SeededGenerator(state: 1)
        let words = ["data", "data:", "id: ", "event", ":", "\r", "\n", "\r\n", "\u{FEFF}", " ", "retry:12", "é"].map { Array($0.utf8) }
        for _ in 0..<500 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...40, using: &generator) {
                bytes +=
                    Bool.random(using: &generator)
                    ? words.randomElement(using: &generator)! : [UInt8.random(in: 0...255, using: &generator)]
            }
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            let whole = try read([bytes])
            #expect(try read([Array(bytes[..<cut]), Array(bytes[cut...])]) == whole)
        }
    }
}
