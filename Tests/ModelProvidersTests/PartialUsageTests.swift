import BinaryFormats
import CoachCore
import ProviderSimulator
import Testing

@testable import ModelProviders

@Suite("Usage of an answer that was cut")
struct PartialUsageTests {
    private static let estimate = TokenUsage(input: 40, cachedInput: 0, cacheWrite: 0, output: 30, reasoning: 5)

    private func bill(_ reported: TokenUsage?) -> TurnBill {
        PriceBook([]).bill(
            of: ModelName(provider: "p", model: "m"), on: CalendarDay(daysSinceEpoch: 0), reported: reported ?? TokenUsage(),
            estimate: Self.estimate)
    }

    @Test("is estimated in each dialect, and that of a whole answer is not", arguments: Dialect.all)
    func estimated(_ dialect: Dialect) async throws {
        let usage = Script.UsageOverride(promptTokens: 50, completionTokens: 30, cachedTokens: 20)
        let cut = Script.quick { ($0.words, $0.cutAfterTokens, $0.usage) = (5, 3, usage) }
        try await CallBench.run(cut, dialect: dialect) { bench in
            let record = try await bench.ask()
            let bill = bill(record.usage)
            #expect(record.fault?.kind == .cut && bill.estimated && bill.usage.output == 30, "\(record)")
        }
        try await CallBench.run(.quick { ($0.words, $0.usage) = (5, usage) }, dialect: dialect) { bench in
            let record = try await bench.ask()
            #expect(!bill(record.usage).estimated && record.usage?.totalOutput == 30, "\(record)")
        }
    }

    @Test("has the bytes of the reasoning that was sent", arguments: Dialect.all)
    func reasoning(_ dialect: Dialect) async throws {
        let cut = Script.quick { ($0.words, $0.thinking, $0.cutAfterTokens) = (5, "a secret thought", 1) }
        try await CallBench.run(cut, .quick { $0.words = 1 }, dialect: dialect) { bench in
            let record = try await bench.ask()
            #expect(record.reasoningBytes == 16, "\(record)")
            // The same, when nothing of the answer was released and another provider takes over.
            let void = try await bench.start(recorder: CallRecorder { _, _ in ReleaseState(isReleased: false) }).recorder.ended()
            #expect(void.unusedCalls.map(\.reasoningBytes) == [16], "\(void)")
        }
    }

    private static let cumulative: [(String, String)] = [
        (
            "openai-compatible",
            #"""
            data: {"choices":[{"index":0,"delta":{"content":"one"}}],"usage":{"prompt_tokens":5,"completion_tokens":41}}


            """#
        ),
        (
            "gemini",
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"one"}]}}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":41}}


            """#
        ),
        (
            "anthropic",
            #"""
            data: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":41}}}


            """#
        ),
        (
            "openai-responses",
            #"""
            data: {"type":"response.in_progress","response":{"usage":{"input_tokens":5,"output_tokens":41}}}


            """#
        ),
    ]

    @Test("is at least what the provider counted before the cut", arguments: cumulative)
    func counted(_ name: String, _ stream: String) throws {
        let reading = Reading.of(stream, try #require(Dialect.named(name)))
        #expect(reading.verdict == .cut && reading.usage == TokenUsage(input: 5, output: 41, isPartial: true))
        let bill = bill(reading.usage)
        #expect(bill.estimated && bill.usage.input == 5 && bill.usage.totalOutput == 41)
    }

    @Test("is final after the finish reason, though the end mark is missing")
    func final() {
        let frames = stream(chunk("a", finish: "stop"), #"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#, done: false)
        #expect(Reading.of(frames).usage == TokenUsage(input: 5, output: 1))
    }

    @Test("broken UTF-8 in an answer becomes U+FFFD in every dialect")
    func brokenText() throws {
        let frames: [(dialect: String, before: String, after: String)] = [
            ("openai", #"data: {"choices":[{"delta":{"content":"a"#, #""},"finish_reason":"stop"}]}"#),
            ("anthropic", #"data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"a"#, #""}}"#),
            ("gemini", #"data: {"candidates":[{"content":{"parts":[{"text":"a"#, #""}]},"finishReason":"STOP"}]}"#),
            ("openai-responses", #"data: {"type":"response.output_text.delta","delta":"a"#, #""}"#),
        ]
        for frame in frames {
            let dialect = try #require(Dialect.named(frame.dialect))
            let bytes = Array(frame.before.utf8) + [0xE2, 0x82] + Array("\(frame.after)\n\n".utf8)
            for cut in bytes.indices {
                #expect(Reading.of([bytes[..<cut], bytes[cut...]], dialect).text == "a\u{FFFD}", "\(frame.dialect)")
            }
        }
        let message = AmazonEvent(
            headers: [(":event-type", "contentBlockDelta"), (":message-type", "event")],
            payload: Array(#"{"delta":{"text":"a"#.utf8) + [0xE2, 0x82] + Array(#""}}"#.utf8))
        #expect(Reading.of([message.bytes[...]], Dialect(BedrockConverse.self)).text == "a\u{FFFD}")
    }
}
