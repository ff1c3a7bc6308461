import BinaryFormats
import CoachCore
import Testing

@testable import ModelProviders

/// What each dialect makes of a usage that no provider can mean. `HostileAnswerTests` shows the bill.
@Suite("Absurd usage in each dialect")
struct AbsurdUsageTests {
    private static let counts = [
        "1000000000000000000", "9223372036854775807", "-9223372036854775808", "99999999999999999999999999", "1e400", "-1e400", "1e18", "-5",
        "-0.5", "1.5", "\"12\"", "null", "true", "{}", "[7]", "{\"a\":{\"b\":[1,2]}}",
    ]

    @Test("is unknown or cannot be true, and neither breaks the answer nor overflows", arguments: Dialect.all, counts)
    func absurd(_ dialect: Dialect, count: String) throws {
        let stream = try #require(Self.stream(dialect, count), "a stream of \(dialect.name)")
        for pieces in [[stream[...]], stream.indices.map { stream[$0...$0] }] {
            let reading = Reading.of(pieces, dialect)
            #expect(reading.text == "Kept." && reading.verdict == .ended(.stop), "\(reading)")
            let estimate = TokenUsage(input: 300, cachedInput: 0, cacheWrite: 0, output: 2, reasoning: 0)
            let believed = TokenEstimate.plausible(reading.usage ?? TokenUsage(), for: estimate)
            #expect(believed.input == nil && believed.output == nil, "\(reading)")
        }
    }

    /// An answer of the dialect with this count in each class of its usage.
    private static func stream(_ dialect: Dialect, _ count: String) -> [UInt8]? {
        switch dialect.name {
        case "openai", "openai-compatible", "azure-openai":
            Array(
                """
                data: {"choices":[{"index":0,"delta":{"content":"Kept."},"finish_reason":"stop"}]}

                data: {"choices":[],"usage":{"prompt_tokens":\(count),"completion_tokens":\(count),"total_tokens":\(count),\
                "prompt_tokens_details":{"cached_tokens":\(count)},"completion_tokens_details":{"reasoning_tokens":\(count)}}}

                data: [DONE]


                """.utf8)
        case "openai-responses":
            Array(
                """
                data: {"type":"response.output_text.delta","delta":"Kept."}

                data: {"type":"response.completed","response":{"usage":{"input_tokens":\(count),"output_tokens":\(count),\
                "input_tokens_details":{"cached_tokens":\(count)},"output_tokens_details":{"reasoning_tokens":\(count)}}}}


                """.utf8)
        case "anthropic":
            Array(
                """
                data: {"type":"message_start","message":{"usage":{"input_tokens":\(count),"cache_read_input_tokens":\(count),\
                "cache_creation_input_tokens":\(count),"output_tokens":\(count)}}}

                data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Kept."}}

                data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":\(count),\
                "output_tokens_details":{"thinking_tokens":\(count)}}}

                data: {"type":"message_stop"}


                """.utf8)
        case "gemini":
            Array(
                """
                data: {"candidates":[{"content":{"parts":[{"text":"Kept."}]},"finishReason":"STOP","index":0}],"usageMetadata":{\
                "promptTokenCount":\(count),"toolUsePromptTokenCount":\(count),"cachedContentTokenCount":\(count),\
                "candidatesTokenCount":\(count),"thoughtsTokenCount":\(count)}}


                """.utf8)
        case "bedrock":
            [
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"Kept."}}"#),
                ("messageStop", #"{"stopReason":"end_turn"}"#),
                (
                    "metadata",
                    #"{"usage":{"inputTokens":\#(count),"outputTokens":\#(count),"cacheReadInputTokens":\#(count),"cacheWriteInputTokens":\#(count)}}"#
                ),
            ].flatMap { type, json in
                AmazonEvent(headers: [(":event-type", type), (":message-type", "event")], payload: Array(json.utf8)).bytes
            }
        default: nil
        }
    }
}
