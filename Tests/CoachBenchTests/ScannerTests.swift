import Testing

@testable import coach_bench

@Suite("The scanner for stamps")
struct ScannerTests {
    @Test("a stamp is found wherever the text is split, and gives the latency")
    func cuts() {
        var stamp = Array(Stamp.placeholder.utf8)
        stamp.withUnsafeMutableBufferPointer { bytes in
            if let base = bytes.baseAddress { Stamp.write(123_456_789, to: base + 1) }
        }
        let text = Array(#"data: {"content":""#.utf8) + stamp + stamp + Array(#""}"#.utf8)
        for cut in 0...text.count {
            #expect(scan([Array(text[..<cut]), Array(text[cut...])]) == [123_456_789, 123_456_789])
        }
        #expect(Stamp.age(of: 123_456_789, at: 123_456_800) == 11)
    }

    @Test("the latency is correct when the stamp's clock overflows in between")
    func overflow() {
        #expect(Stamp.age(of: (1 << 48) - 1, at: 1 << 48 | 4) == 5)
    }

    @Test("a stamp that is split between two events counts as a token without a latency")
    func interrupted() {
        #expect(scan([Array("~bbbb\"}\n\ndata: x".utf8)]) == [nil])
    }

    private func scan(_ pieces: [[UInt8]]) -> [UInt64?] {
        var scanner = Stamp.Scanner()
        var found: [UInt64?] = []
        for piece in pieces {
            piece.withUnsafeBytes { bytes in scanner.scan(bytes) { found.append($0) } }
        }
        return found
    }
}
