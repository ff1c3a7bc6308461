import JSON
import TestSupport
import Testing

struct JSONFuzzTests {
    static let seeds = [
        #"{"type":"token","done":false,"content":"a\u00e9\ud83d\ude00\n\"\\ é🫶🏽","n":[-1.5e-3,0,12345678901234567890,true,null,{}]}"#,
        #"[[[]],{"a":{"b":{"c":[1,2,3]}}},"\u2028\u0000\ud800"]"#,
    ]

    /// Runs every reader. Any outcome but a trap passes.
    static func exercise(_ bytes: [UInt8]) {
        for rule in [JSONCursor.StringRule.strict, .repairing] {
            var skipping = JSONCursor(bytes, strings: rule)
            let accepted = (try? skipping.finish()) != nil
            // The cursor that skips accepts everything that the tree parser accepts.
            if (try? JSONDocument(parsing: bytes)) != nil { #expect(accepted, "\(bytes)") }
            var cursor = JSONCursor(bytes, strings: rule)
            walk(&cursor)
        }
    }

    /// Requests values of every kind, the wrong kinds first.
    static func walk(_ cursor: inout JSONCursor) {
        var output: [UInt8] = []
        _ = try? cursor.readInteger()
        _ = try? cursor.nextKey()
        try? cursor.readString(into: &output)
        _ = try? cursor.readBool()
        _ = try? cursor.nextElement()
        for _ in 0..<64 {
            if (try? cursor.beginObject()) != nil { continue }
            if (try? cursor.beginArray()) != nil { continue }
            _ = try? cursor.readString()
            _ = try? cursor.readNumber()
            if (try? cursor.nextKey()) ?? nil != nil { continue }
            if (try? cursor.nextElement()) ?? false { continue }
            if (try? cursor.readRaw()) == nil { break }
        }
        try? cursor.finish()
    }

    @Test("every prefix of valid JSON is parsed or rejected without a crash", arguments: seeds)
    func prefixes(_ json: String) {
        let bytes = Array(json.utf8)
        for count in 0..<bytes.count {
            Self.exercise(Array(bytes[..<count]))
            #expect(throws: JSONError.self) { try JSONDocument(parsing: Array(bytes[..<count])) }
        }
        Self.exercise(bytes)
    }

    @Test("valid JSON with every byte changed in turn never crashes", arguments: seeds)
    func mutations(_ json: String) {
        var generator = SeededGenerator(state: 2)
        let bytes = Array(json.utf8)
        for index in bytes.indices {
            for _ in 0..<8 {
                var mutated = bytes
                mutated[index] = UInt8.random(in: 0...255, using: &generator)
                Self.exercise(mutated)
            }
        }
    }

    @Test("random bytes and random JSON words never crash")
    func random() {
        var generator = SeededGenerator(state: 3)
        let words = ["{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d800", "\"a\":", "1", "-", ".", "e", "null", "true", " "].map {
            Array($0.utf8)
        }
        for _ in 0..<2_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...24, using: &generator) {
                bytes +=
                    Int.random(in: 0..<4, using: &generator) > 0
                    ? words.randomElement(using: &generator)! : [UInt8.random(in: 0...255, using: &generator)]
            }
            Self.exercise(bytes)
        }
    }

    @Test("a random tree is parsed to what was written")
    func randomTrees() throws {
        var generator = SeededGenerator(state: 4)
        for _ in 0..<300 {
            let value = Self.tree(depth: 4, &generator)
            #expect(try JSONValue(parsing: value.bytes) == value)
        }
    }

    static func tree(depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
        case 0: return .null
        case 1: return .bool(.random(using: &generator))
        case 2: return .integer(.random(in: .min ... .max, using: &generator))
        // Not whole, so that it is not parsed as an integer.
        case 3: return .number(.random(in: -1e3...1e3, using: &generator) + 1e-9)
        case 4: return .string(word(&generator))
        case 5: return .array((0..<Int.random(in: 0...4, using: &generator)).map { _ in tree(depth: depth - 1, &generator) })
        default:
            return .object(
                (0..<Int.random(in: 0...4, using: &generator)).map { index in
                    JSONMember("\(index)\(word(&generator))", tree(depth: depth - 1, &generator))
                })
        }
    }

    static func word(_ generator: inout SeededGenerator) -> String {
        let pieces = ["a", "\"", "\\", "\n", "é", "\u{85}", "\u{2028}", "\u{2029}", "🫶🏽", "\u{1F}", "\u{7F}", "漢"]
        return (0..<Int.random(in: 0...6, using: &generator)).map { _ in pieces.randomElement(using: &generator)! }.joined()
    }
}
