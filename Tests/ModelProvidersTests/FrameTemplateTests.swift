import TestSupport
import Testing

@testable import ModelProviders

@Suite("FrameTemplate")
struct FrameTemplateTests {
    /// Ordinary frames of several servers, among them strange ones.
    private static let frames = [
        #"{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aX"}"#,
        #"{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
        #"{"choices":[{"delta":{"content":"é\n"},"index":0,"finish_reason":""}],"obfuscation":"","more":{"content":"no"}}"#,
        #" { "obfuscation" : "x" , "choices" : [ { "delta" : { "content" : "a" } } ] , "obfuscation" : "y" , "obfuscation" : 7 } "#,
        #"{"choices":[{"delta":{"refusal":"no","content":null}}],"error":null,"usage":[1,2]}"#,
        #"{"choices":[{"delta":{"role":"assistant","content":""}},{"index":1,"delta":{}}]}"#,
        #"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#,
        #"{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}],"obfuscation":"z"}"#,
        #"{"choices":[{"index":1,"delta":{"content":"b"}}]}"#,
        #"{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#,
    ]

    /// What a full parse says; nil when it refuses the frame.
    private struct Parse: Equatable {
        var text: [UInt8]
        var isOrdinary: Bool

        init?(_ frame: [UInt8]) {
            text = []
            guard let chunk = try? OpenAIChunk(frame, text: &text) else { return nil }
            isOrdinary = chunk.finish == nil && chunk.usage == nil && chunk.error == nil
        }
    }

    private func template(of frame: [UInt8]) throws -> FrameTemplate? {
        var text: [UInt8] = []
        guard let places = try OpenAIChunk(frame, text: &text).ordinaryPlaces else { return nil }
        var template = FrameTemplate()
        frame.withUnsafeBufferPointer { template.learn($0, places) }
        return template
    }

    /// What is read by the template must be what is parsed. Returns whether it was read by the template.
    private func check(_ template: FrameTemplate, _ frame: [UInt8]) -> Bool {
        var text = Array("before".utf8)
        guard frame.withUnsafeBufferPointer({ template.read($0, into: &text) }) else {
            #expect(text == Array("before".utf8))
            return false
        }
        let parse = Parse(frame)
        #expect(parse?.text == Array(text.dropFirst(6)) && parse?.isOrdinary == true, "\(String(decoding: frame, as: UTF8.self))")
        return true
    }

    @Test("a frame is learnt when one string of one choice is all it says")
    func learnt() throws {
        let isLearnt = try Self.frames.map { try template(of: Array($0.utf8)) != nil }
        #expect(isLearnt == [true, true, true, true, true, false, false, false, false, false])
    }

    @Test("a frame is read by itself, and with other text and padding")
    func read() throws {
        for frame in Self.frames {
            guard let template = try template(of: Array(frame.utf8)) else { continue }
            #expect(check(template, Array(frame.utf8)))
        }
        let template = try #require(try template(of: Array(Self.frames[0].utf8)))
        for (text, padding) in [("", ""), ("ü\\n\\u2028\\ud83d\\ude00", "0123456789abcdef"), (String(repeating: "x", count: 5000), "?")] {
            let frame = Self.frames[0].replacing("Hi", with: text).replacing("aX", with: padding)
            #expect(check(template, Array(frame.utf8)))
        }
    }

    @Test("what the text or the padding cannot show cleanly is parsed")
    func unclean() throws {
        let template = try #require(try template(of: Array(Self.frames[0].utf8)))
        for text in ["\\u0000", "\\ud83d", "\\x", "\u{1}", "\\"] {
            #expect(!check(template, Array(Self.frames[0].replacing("Hi", with: text).utf8)))
        }
        for padding in ["\\n", "é", "\u{1}", "\\"] {
            #expect(!check(template, Array(Self.frames[0].replacing("aX", with: padding).utf8)))
        }
    }

    @Test("a frame beyond any usual length is not learnt")
    func long() throws {
        let long = Self.frames[1].replacing("\"c\"", with: "\"" + String(repeating: "c", count: 2000) + "\"")
        let template = try #require(try template(of: Array(long.utf8)))
        #expect(!check(template, Array(long.utf8)))
    }

    @Test("every other byte at every place: what is read by the template is what is parsed")
    func everyByte() throws {
        for frame in Self.frames.map({ Array($0.utf8) }) {
            guard let template = try template(of: frame) else { continue }
            for index in frame.indices {
                var deleted = frame
                deleted.remove(at: index)
                _ = check(template, deleted)
                for byte in Array("\"\\,:{}[]n0 a".utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xC3, 0xFF] {
                    var replaced = frame
                    replaced[index] = byte
                    _ = check(template, replaced)
                    var inserted = frame
                    inserted.insert(byte, at: index)
                    _ = check(template, inserted)
                }
            }
        }
    }

    @Test("random mutations: what is read by the template is what is parsed", arguments: 0..<50)
    func random(_ seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        let words = [
            "\"", "\\\"", "\"}", "\",\"content\":\"x", "\"},\"index\":1,\"x\":{\"a\":\"", "\"obfuscation\":\"q\",", "é", "\\u0000", "}]}",
            "\\", "null", "  ",
        ].map { Array($0.utf8) }
        let templates = try Self.frames.map { try template(of: Array($0.utf8)) }
        for _ in 0..<400 {
            let source = Int.random(in: Self.frames.indices, using: &random)
            var frame = Array(Self.frames[source].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0...frame.count, using: &random)
                let end = min(frame.count, place + Int.random(in: 0...6, using: &random))
                frame.replaceSubrange(place..<end, with: words.randomElement(using: &random)!)
            }
            for case let template? in templates { _ = check(template, frame) }
        }
    }

    @Test("a stream read in any pieces says what its frames say one by one", arguments: 0..<50)
    func stream(_ seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        let texts = ["a", "", " wörd", "\\n", "\\\"", "👋", "\\u0000x", "\\ud83d"]
        let frames = (0..<30).map { _ in
            let frame = Self.frames[Int.random(in: 0..<3, using: &random)]
            return frame.replacing("Hi", with: texts.randomElement(using: &random)!).replacing("aX", with: "\(random.next())")
        }
        var expected = frames.reduce(into: [UInt8]()) { text, frame in text += Parse(Array(frame.utf8))?.text ?? [] }
        var surrogates = SplitSurrogates()
        surrogates.repair(&expected, from: 0)
        var rest = Array(frames.map { "data: \($0)\n\n" }.joined().utf8)[...]
        var pieces: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            pieces.append(rest.prefix(Int.random(in: 1...400, using: &random)))
            rest = rest.dropFirst(pieces[pieces.count - 1].count)
        }
        var reader = Dialect.openAI.makeReader(for: "m")
        var update = ParsedUpdate()
        for piece in pieces { piece.withUnsafeBytes { reader.read($0, into: &update) } }
        #expect(update.text == expected && update.verdict == nil)
    }
}
