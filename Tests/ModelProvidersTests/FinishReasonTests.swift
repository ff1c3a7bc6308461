import BinaryFormats
import CoachCore
import Testing

@testable import ModelProviders

@Suite("Finish reasons of the dialects with words of their own")
struct FinishReasonTests {
    typealias Verdict = ParsedUpdate.Verdict

    private static func failure(_ reason: String) -> Verdict { .broken(.errorFrame, detail: reason) }

    private static let anthropicReasons: [(String, Verdict)] = [
        ("end_turn", .ended(.stop)), ("stop_sequence", .ended(.stop)), ("max_tokens", .ended(.length)), ("refusal", .ended(.filtered)),
        ("error", failure("error")), ("a_new_reason", .ended(.unknown)),
    ]

    @Test("Anthropic", arguments: anthropicReasons)
    func anthropic(_ reason: String, _ verdict: Verdict) {
        let stream = """
            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

            data: {"type":"message_delta","delta":{"stop_reason":"\(reason)"}}


            """
        for end in ["", "data: {\"type\":\"message_stop\"}\n\n"] {
            #expect(Reading.of(stream + end, Dialect(AnthropicMessages.self)) == Reading(text: "a", verdict: verdict))
        }
    }

    private static let geminiReasons: [(String, Verdict)] = [
        ("STOP", .ended(.stop)), ("MAX_TOKENS", .ended(.length)), ("SAFETY", .ended(.filtered)), ("RECITATION", .ended(.filtered)),
        ("BLOCKLIST", .ended(.filtered)), ("PROHIBITED_CONTENT", .ended(.filtered)), ("SPII", .ended(.filtered)),
        ("MODEL_ARMOR", .ended(.filtered)), ("IMAGE_PROHIBITED_CONTENT", .ended(.filtered)), ("OTHER", failure("OTHER")),
        ("MALFORMED_RESPONSE", failure("MALFORMED_RESPONSE")), ("UNEXPECTED_TOOL_CALL", failure("UNEXPECTED_TOOL_CALL")),
        ("MALFORMED_secret words", failure("malformed")), ("A_NEW_REASON", .ended(.unknown)),
    ]

    @Test("Gemini", arguments: geminiReasons)
    func gemini(_ reason: String, _ verdict: Verdict) {
        let frame = #"data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"\#(reason)","index":0}]}"#
        #expect(Reading.of(frame + "\n\n", Dialect(Gemini.self)) == Reading(text: "a", verdict: verdict))
    }

    private static let bedrockReasons: [(String, Verdict)] = [
        ("end_turn", .ended(.stop)), ("model_context_window_exceeded", .ended(.length)), ("content_filtered", .ended(.filtered)),
        ("guardrail_intervened", .ended(.filtered)), ("malformed_tool_use", failure("malformed_tool_use")),
        ("a_new_reason", .ended(.unknown)),
    ]

    @Test("Bedrock", arguments: bedrockReasons)
    func bedrock(_ reason: String, _ verdict: Verdict) {
        let stop = AmazonEvent(
            headers: [(":event-type", "messageStop"), (":message-type", "event")], payload: Array(#"{"stopReason":"\#(reason)"}"#.utf8))
        #expect(Reading.of([stop.bytes[...]], Dialect(BedrockConverse.self)).verdict == verdict)
    }
}
