import JSON
import TestSupport
import Testing

struct JSONCursorTests {
    /// Reads a chunk as a provider dialect does.
    static func chunk(_ json: String) throws -> (content: String?, prompt: Int?, error: String?) {
        var cursor = JSONCursor(Array(json.utf8), strings: .repairing)
        var content: [UInt8]?
        var prompt: Int?
        var message: String?
        try cursor.beginObject()
        while let key = try cursor.nextKey() {
            switch key {
            case "choices":
                try cursor.beginArray()
                while try cursor.nextElement() {
                    try cursor.beginObject()
                    while let key = try cursor.nextKey() {
                        guard key == "delta" else { continue }
                        try cursor.beginObject()
                        while let key = try cursor.nextKey() {
                            guard key == "content", try !cursor.skipNull() else { continue }
                            var bytes: [UInt8] = []
                            try cursor.readString(into: &bytes)
                            content = bytes
                        }
                    }
                }
            case "usage":
                if try cursor.skipNull() { continue }
                try cursor.beginObject()
                while let key = try cursor.nextKey() {
                    if key == "prompt_tokens" { prompt = try cursor.readInteger() }
                }
            case "error":
                try cursor.beginObject()
                while let key = try cursor.nextKey() {
                    if key == "message" { message = try cursor.skipNull() ? nil : cursor.readString() }
                }
            default: break
            }
        }
        try cursor.finish()
        return (content.map(text), prompt, message)
    }

    @Test("a provider's chunk is read without a tree, and unread members are skipped")
    func providerChunks() throws {
        let token = try Self.chunk(
            #" {"id":"c","x":[{"y":[1,{}]}],"choices":[{"index":0,"delta":{"role":"a","content":"H\u00e9\ud83e\udef6\n"},"z":null}],"usage":null} "#
        )
        #expect(token.content == "Hé🫶\n" && token.prompt == nil)
        let usage = try Self.chunk(#"{"choices":[],"usage":{"prompt_tokens":9,"details":{"cached":1}}}"#)
        #expect(usage.content == nil && usage.prompt == 9)
        let failure = try Self.chunk(#"{"error":{"message":"slow down","code":429}}"#)
        #expect(failure.error == "slow down")
    }

    @Test("a name written with escapes is the same name")
    func escapedKey() throws {
        #expect(try Self.chunk(#"{"\u0065rror":{"m\u0065ssage":"x"}}"#).error == "x")
    }

    @Test("a surrogate pair is one character, half of one is an error or U+FFFD by the string rule")
    func surrogates() throws {
        func read(_ json: String, _ rule: JSONCursor.StringRule) throws -> String {
            var cursor = JSONCursor(Array(json.utf8), strings: rule)
            return try cursor.readString()
        }
        #expect(try read(#""\uD83D\uDE00""#, .strict) == "😀")
        for lone in [#""\ud800""#, #""\udc00x""#, #""\ud800\u0041""#, #""\ud800\ud83d\ude00""#, #""\ud800\n""#] {
            #expect(kind { _ = try read(lone, .strict) } == .loneSurrogate)
        }
        #expect(try read(#""\ud800\ud83d\ude00""#, .repairing) == "\u{FFFD}😀")
        #expect(try read(#""\ud800A""#, .repairing) == "\u{FFFD}A")
        var keeping = JSONCursor(Array(#""a\ud83d\ude00\ud83d\u0062\ude00""#.utf8), strings: .keepingSurrogates)
        var bytes: [UInt8] = []
        try keeping.readString(into: &bytes)
        #expect(bytes == Array("a😀".utf8) + [0xED, 0xA0, 0xBD] + Array("b".utf8) + [0xED, 0xB8, 0x80])
    }

    @Test("malformed UTF-8 in a string is an error or U+FFFD by the string rule")
    func malformedUTF8() throws {
        let bytes: [UInt8] = [0x22, 0x41, 0xE2, 0x80, 0x22]
        var strict = JSONCursor(bytes)
        #expect(kind { _ = try strict.readString() } == .malformedUTF8)
        var repairing = JSONCursor(bytes, strings: .repairing)
        #expect(try repairing.readString() == "A\u{FFFD}")
    }

    @Test("a whole number in range is an integer in any notation, other numbers are not")
    func integers() throws {
        func read(_ json: String) throws -> Int {
            var cursor = JSONCursor(Array(json.utf8))
            return try cursor.readInteger()
        }
        for (json, value) in [
            ("0", 0), ("-0", 0), ("12.0", 12), ("1e2", 100), ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
        ] {
            #expect(try read(json) == value)
        }
        for json in ["1.5", "9223372036854775808", "-9223372036854775809", "1e99", "1e999"] {
            #expect(kind { _ = try read(json) } == .numberOutOfRange)
        }
    }

    @Test("a value of an unexpected kind is an error that names the expected kind, and can be skipped")
    func mismatch() throws {
        var cursor = JSONCursor(Array(#"{"a":[1],"b":2}"#.utf8))
        try cursor.beginObject()
        _ = try cursor.nextKey()
        #expect(kind { _ = try cursor.readString() } == .expected(.string))
        #expect(kind { _ = try cursor.readInteger() } == .expected(.number))
        #expect(kind { _ = try cursor.readBool() } == .expected(.bool))
        #expect(kind { try cursor.beginObject() } == .expected(.object))
        let next = try cursor.nextKey()
        #expect(next?.string == "b")
        #expect(try cursor.readNumber() == 2)
        #expect(kind { _ = try cursor.readNumber() } == .noValue)
        #expect(try cursor.nextKey() == nil)
        try cursor.finish()
    }

    @Test("a raw value is its unchanged bytes")
    func raw() throws {
        var cursor = JSONCursor(Array(#"{"a" : {"b": [1, 2]} , "c":1}"#.utf8))
        try cursor.beginObject()
        _ = try cursor.nextKey()
        #expect(text(try cursor.readRaw()) == #"{"b": [1, 2]}"#)
    }

    @Test("a slice that does not start at index 0 is read from its own start")
    func slice() throws {
        let bytes = Array(#"xx{"a":"é\n"}yy"#.utf8)
        var cursor = JSONCursor(bytes[2..<(bytes.count - 2)])
        try cursor.beginObject()
        _ = try cursor.nextKey()
        #expect(try cursor.readString() == "é\n")
        #expect(try cursor.nextKey() == nil)
        #expect(cursor.offset == bytes.count - 4)
    }

    @Test(
        "malformed JSON is an error",
        arguments: [
            "", " ", "{", "}", "[", "]", "[1,]", "[,1]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":1 \"b\":2}", "[1 2]",
            "[1}", "{\"a\":1]", "tru", "nul", "truex", "True", "NaN", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "\"", "\"\\",
            "\"\\x\"",
            "\"\\u12\"", "\"\\u12g4\"", "\"\n\"", "\"\u{0}\"", "1 2", "{} {}", "'a'", "[1]]", "{}\u{FEFF}", "/**/1", "\"\\ud800\\u\"",
        ])
    func malformed(_ json: String) {
        var cursor = JSONCursor(Array(json.utf8))
        #expect(throws: JSONError.self) { try cursor.finish() }
        #expect(throws: JSONError.self) { try JSONDocument(parsing: Array(json.utf8)) }
    }

    @Test("128 nested containers are read, 129 are an error, and a million do not exhaust the stack")
    func depth() throws {
        func nested(_ count: Int) -> [UInt8] { Array(repeating: 0x5B, count: count) + Array(repeating: 0x5D, count: count) }
        var fitting = JSONCursor(nested(128))
        try fitting.finish()
        for count in [129, 1_000_000] {
            var cursor = JSONCursor(nested(count))
            #expect(kind { try cursor.finish() } == .tooDeep)
            #expect(kind { _ = try JSONDocument(parsing: nested(count)) } == .tooDeep)
        }
        var objects = JSONCursor(Array(String(repeating: "{\"a\":", count: 1000).utf8))
        #expect(kind { try objects.finish() } == .tooDeep)
    }
}

/// The kind of the error that `body` throws; nil if it does not throw.
func kind(_ body: () throws -> Void) -> JSONError.Kind? {
    do {
        try body()
        return nil
    } catch {
        return (error as? JSONError)?.kind
    }
}
