import EventStream
import TestSupport
import Testing

@Suite("Events borrowed from the parser's input")
struct EventStreamBorrowingTests {
    /// The data of all events as `feed` copies it; nil stands for an error.
    private func copied(_ pieces: [[UInt8]], limit: Int = 4096) -> [[UInt8]?] {
        var parser = EventStreamParser(limit: limit)
        var data: [[UInt8]?] = []
        for piece in pieces {
            do {
                try parser.feed(piece) { data.append($0.data) }
            } catch { data.append(nil) }
        }
        return data
    }

    /// The data of all events as `feedData` passes it; nil stands for an error.
    private func borrowed(_ pieces: [[UInt8]], limit: Int = 4096) -> [[UInt8]?] {
        var parser = EventStreamParser(limit: limit)
        var data: [[UInt8]?] = []
        for piece in pieces {
            do {
                try piece.withUnsafeBytes { bytes in try parser.feedData(bytes) { data.append(Array($0)) } }
            } catch { data.append(nil) }
        }
        return data
    }

    @Test("feedData gives the same data as feed for every transcript, split at every byte", arguments: Transcripts.all)
    func everyCut(_ transcript: String) {
        let bytes = Array(transcript.utf8)
        for cut in 0...bytes.count {
            let pieces = [Array(bytes[..<cut]), Array(bytes[cut...])]
            #expect(borrowed(pieces) == copied(pieces), "cut at \(cut)")
        }
        #expect(borrowed(bytes.map { [$0] }) == copied([bytes]))
    }

    @Test("feedData gives the same data as feed for random streams of valid and invalid events, split anywhere")
    func randomStreams() {
        var generator = SeededGenerator(state: 7)
        let words = [
            "data: a\n\n", "data:b\n\n", "data\n\n", "data:\n\n", "data:  c\n\n", "data: d\r\n\r\n", "data: e\n\r\n", "data: f\r\r",
            "data: g\rh\n\n", "data: i\n", "\n", "\r", "data", ": ping\n\n", "event: x\n", "id: 1\n", "retry: 1\n", "\u{FEFF}",
            "database: 1\n\n",
            "data: a long one over the limit of this parser\n\n",
        ].map { Array($0.utf8) }
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 1...12, using: &generator)).flatMap { _ in words.randomElement(using: &generator)! }
            let first = Int.random(in: 0...bytes.count, using: &generator)
            let second = Int.random(in: first...bytes.count, using: &generator)
            let pieces = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
            #expect(borrowed(pieces, limit: 24) == copied(pieces, limit: 24), "\(text(bytes).debugDescription), cut at \(first), \(second)")
        }
    }
}
