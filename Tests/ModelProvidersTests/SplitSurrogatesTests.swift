import BinaryFormats
import Testing

@testable import ModelProviders

@Suite("SplitSurrogates")
struct SplitSurrogatesTests {
    /// An answer of these texts, as the dialect sends them; ends without an end mark.
    private static func read(_ dialect: Dialect, _ texts: [String]) -> String {
        let bytes = texts.flatMap { text -> [UInt8] in
            switch dialect.name {
            case "anthropic": event(#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"\#(text)"}}"#)
            case "gemini": event(#"{"candidates":[{"content":{"parts":[{"text":"\#(text)"}]}}]}"#)
            case "openai-responses": event(#"{"type":"response.output_text.delta","delta":"\#(text)"}"#)
            case "bedrock":
                AmazonEvent(
                    headers: [(":event-type", "contentBlockDelta"), (":message-type", "event")],
                    payload: Array(#"{"delta":{"text":"\#(text)"}}"#.utf8)
                ).bytes
            default: event(#"{"choices":[{"index":0,"delta":{"content":"\#(text)"}}]}"#)
            }
        }
        let whole = Reading.of([bytes[...]], dialect).text
        // Read byte by byte, each update is whole characters (`Reading`).
        #expect(Reading.of(bytes.indices.map { bytes[$0...$0] }, dialect).text == whole)
        return whole
    }

    private static func event(_ json: String) -> [UInt8] { Array("data: \(json)\n\n".utf8) }

    @Test("a pair that is split between two frames is one character, in each dialect", arguments: Dialect.all)
    func pair(_ dialect: Dialect) {
        #expect(Self.read(dialect, ["Hi", " there ", #"\ud83d"#, #"\ude00!"#]) == "Hi there 😀!")
        #expect(Self.read(dialect, [#"a\ud83d"#, "", #"\ude00\ud83d"#, #"\ude00 한"#]) == "a😀😀 한")
    }

    @Test("a half without its other one is U+FFFD, at the end of the answer too", arguments: Dialect.all)
    func halves(_ dialect: Dialect) {
        #expect(Self.read(dialect, [#"a\ud83d"#, "b", "c", #"\ude00"#, "d"]) == "a\u{FFFD}bc\u{FFFD}d")
        #expect(Self.read(dialect, [#"a\ud83d"#, #"\ud83d\ude00"#, #"\ud83d"#]) == "a\u{FFFD}😀\u{FFFD}")
    }
}
