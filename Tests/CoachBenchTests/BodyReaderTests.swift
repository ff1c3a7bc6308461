import Testing

@testable import coach_bench

@Suite("Response bodies")
struct BodyReaderTests {
    @Test("chunked framing is removed wherever the input is split")
    func chunked() {
        let wire = Array("5;name=x\r\nhello\r\n00C\r\n, my friends\r\n0\r\nTrailer: x\r\n\r\n".utf8)
        let body = Array("hello, my friends".utf8)
        for cut in 0...wire.count {
            let (data, hasEnded) = read(BodyReader(.chunked), [Array(wire[..<cut]), Array(wire[cut...])])
            #expect(data == body)
            #expect(hasEnded)
        }
    }

    @Test("a body with a content length ends with its last byte")
    func counted() {
        for cut in 0...4 {
            let wire = Array("rest".utf8)
            let (data, hasEnded) = read(BodyReader(.length(4)), [Array(wire[..<cut]), Array(wire[cut...])])
            #expect(data == wire)
            #expect(hasEnded)
        }
    }

    @Test("a body without a length ends with the connection")
    func open() {
        let (data, hasEnded) = read(BodyReader(.open), [Array("a".utf8), Array("b".utf8)])
        #expect(data == Array("ab".utf8))
        #expect(!hasEnded)
        #expect(BodyReader(.open).endsWithConnection)
    }

    private func read(_ reader: BodyReader, _ pieces: [[UInt8]]) -> ([UInt8], Bool) {
        var reader = reader
        var data: [UInt8] = []
        var hasEnded = false
        for piece in pieces where !hasEnded {
            hasEnded = piece.withUnsafeBytes { bytes in reader.take(bytes) { data += Array($0) } }
        }
        return (data, hasEnded)
    }
}
