import JSON
import TestSupport
import Testing

struct JSONWriterTests {
    @Test("commas are written between members and elements only")
    func commas() {
        let bytes = JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("a", 1)
                writer.key("list")
                writer.array { writer in
                    writer.object { _ in }
                    writer.array { _ in }
                    writer.string("x")
                }
                writer.member("none", String?.none)
                writer.member("yes", true)
                writer.member("half", 0.5)
                writer.key("raw")
                writer.raw("[1,2]".utf8)
            }
        }
        #expect(text(bytes) == #"{"a":1,"list":[{},[],"x"],"none":null,"yes":true,"half":0.5,"raw":[1,2]}"#)
    }

    @Test("quotes, backslashes, control characters and the three line separators are escaped, everything else is unchanged")
    func escapes() {
        let bytes = JSONWriter.encode { $0.string("\"\\/\n\r\t\u{8}\u{C}\u{0}\u{1F}\u{7F}\u{85}\u{84}\u{2027}\u{2028}\u{2029}é🫶🏽") }
        #expect(text(bytes) == "\"\\\"\\\\/\\n\\r\\t\\b\\f\\u0000\\u001f\u{7F}\\u0085\u{84}\u{2027}\\u2028\\u2029é🫶🏽\"")
    }

    @Test("line separators can be left as they are")
    func lineSeparators() {
        var bytes: [UInt8] = []
        JSONWriter.appendString("\n\u{85}\u{2028}\u{2029}é".utf8, to: &bytes, escapesLineSeparators: false)
        #expect(text(bytes) == "\"\\n\u{85}\u{2028}\u{2029}é\"")
    }

    @Test("malformed UTF-8 becomes U+FFFD as Swift's own decoder does it")
    func malformed() {
        let samples: [[UInt8]] = [
            [0x80], [0xC0, 0xAF], [0xC2], [0xE2, 0x80], [0xE2, 0x80, 0x41], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0xAB], [0xF5, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0x41, 0xFF, 0x42], [0xE0, 0x80, 0x80], [0xF0, 0x80, 0x80, 0x80], [0xC2, 0xC2, 0xA9],
        ]
        for sample in samples {
            // Compared as bytes: a conversion to `String` would repair malformed text.
            let repaired = Array("\"\(String(decoding: sample, as: UTF8.self))\"".utf8)
            #expect(JSONWriter.encode { $0.string(utf8: sample) } == repaired)
            var cursor = JSONCursor([0x22] + sample + [0x22])
            #expect(kind { _ = try cursor.readString() } == .malformedUTF8)
        }
    }

    @Test("integers of every width are written, and numbers that JSON cannot represent become null")
    func numbers() {
        let bytes = JSONWriter.encode { writer in
            writer.array { writer in
                writer.integer(Int64.min)
                writer.integer(UInt64.max)
                writer.integer(Int8(-128))
                writer.integer(0)
                writer.number(1e-7)
                writer.number(.infinity)
                writer.number(.nan)
            }
        }
        #expect(text(bytes) == "[-9223372036854775808,18446744073709551615,-128,0,1e-07,null,null]")
    }

    @Test("a buffer is appended to in place, also when the body throws")
    func appending() {
        struct Stop: Error {}
        var output = Array("x".utf8)
        JSONWriter.append(to: &output) { $0.integer(1) }
        #expect(throws: Stop.self) {
            try JSONWriter.append(to: &output) { (writer) throws(Stop) in
                writer.bool(true)
                throw Stop()
            }
        }
        #expect(text(output) == "x1true")
    }

    @Test("every scalar is parsed to what was written, alone and among others")
    func everyScalar() throws {
        for plane in 0...16 {
            var scalars = String.UnicodeScalarView()
            for value in UInt32(plane) << 16..<UInt32(plane + 1) << 16 {
                if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
            }
            let original = Array(String(scalars).utf8)
            let bytes = JSONWriter.encode { $0.string(utf8: original) }
            var cursor = JSONCursor(bytes)
            var decoded: [UInt8] = []
            try cursor.readString(into: &decoded)
            try cursor.finish()
            #expect(decoded == original, "plane \(plane)")
        }
    }

    @Test("a line reader that splits at every Unicode line end sees one line")
    func oneLine() {
        let bytes = JSONWriter.encode { $0.string("a\n\u{B}\u{C}\r\u{1C}\u{1D}\u{1E}\u{85}\u{2028}\u{2029}b") }
        #expect(text(bytes).unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0.value >= 0x20 })
        #expect(text(bytes).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).count == 1)
    }
}
