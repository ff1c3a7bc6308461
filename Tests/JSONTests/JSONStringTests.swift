import JSON
import TestSupport
import Testing

@Suite("Single strings at a known position")
struct JSONStringTests {
    @Test("appendClean reads a clean string as the cursor does, and no other string")
    func cleanStrings() throws {
        var generator = SeededGenerator(state: 9)
        let words = [
            "a", "\\n", "\\\"", "\\u00e9", "\\ud83d", "\\ude00", "\\u0000", "\\x", "é", "👋", "\u{1F}", "\"", "\\", ",", "\u{2028}",
        ]
        for _ in 0..<3000 {
            var bytes = (0..<Int.random(in: 0...6, using: &generator)).flatMap { _ in Array(words.randomElement(using: &generator)!.utf8) }
            if Bool.random(using: &generator) { bytes.insert(UInt8.random(in: 0x80...0xFF, using: &generator), at: bytes.count / 2) }
            let quoted = Array("\"".utf8) + bytes + Array("\"}".utf8)
            var clean: [UInt8] = []
            let end = quoted.withUnsafeBufferPointer { JSONString.appendClean(of: $0, from: 1, to: &clean) }
            var cursor = JSONCursor(quoted)
            var expected: [UInt8] = []
            let isValid: Bool
            do {
                try cursor.readString(into: &expected)
                isValid = !expected.contains(0)
            } catch { isValid = false }
            #expect(end == (isValid ? cursor.offset : nil), "\(text(quoted).debugDescription)")
            if isValid { #expect(clean == expected) }
            if let plain = quoted.withUnsafeBufferPointer({ JSONString.skipPlain(in: $0, from: 1) }) { #expect(plain == end) }
        }
    }
}
