import BinaryFormats
import CoachCore

@testable import ModelProviders

extension Transcript {
    static let bedrock = [
        Transcript(
            "reasoning, text, and usage behind the stop", BedrockConverse.self,
            bytes: events(
                ("messageStart", #"{"p":"abcd","role":"assistant"}"#),
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"secret"}}}"#),
                ("contentBlockStop", #"{"contentBlockIndex":0}"#),
                ("contentBlockDelta", #"{"contentBlockIndex":1,"delta":{"text":"Grüß "},"p":"abcdefghij"}"#),
                ("contentBlockDelta", #"{"contentBlockIndex":1,"delta":{"text":"dich"}}"#),
                ("contentBlockStop", #"{"contentBlockIndex":1}"#), ("messageStop", #"{"stopReason":"end_turn"}"#),
                (
                    "metadata",
                    #"{"metrics":{"latencyMs":551},"usage":{"inputTokens":12,"outputTokens":9,"totalTokens":26,"cacheReadInputTokens":4,"cacheWriteInputTokens":1}}"#
                ), ("metadata", #"{"metrics":{"latencyMs":1}}"#)),
            Reading(
                text: "Grüß dich", usage: TokenUsage(input: 12, cachedInput: 4, cacheWrite: 1, output: 9), verdict: .ended(.stop),
                reasoningBytes: 6)),
        Transcript(
            "OpenAI's models count what the cache gave", BedrockConverse.self, model: "openai.gpt-oss-120b-1:0",
            bytes: events(
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#), ("messageStop", #"{"stopReason":"max_tokens"}"#),
                ("metadata", #"{"usage":{"inputTokens":12,"outputTokens":9,"cacheReadInputTokens":4}}"#)),
            Reading(text: "a", usage: TokenUsage(input: 8, cachedInput: 4, output: 9), verdict: .ended(.length))),
        Transcript(
            "OpenAI's models by their ARN", BedrockConverse.self,
            model: "arn:aws:bedrock:eu-central-1::foundation-model/openai.gpt-oss-120b-1:0",
            bytes: events(
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#), ("messageStop", #"{"stopReason":"end_turn"}"#),
                ("metadata", #"{"usage":{"inputTokens":12,"outputTokens":9,"cacheReadInputTokens":4}}"#)),
            Reading(text: "a", usage: TokenUsage(input: 8, cachedInput: 4, output: 9), verdict: .ended(.stop))),
        Transcript(
            "a guardrail", BedrockConverse.self,
            bytes: events(
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#),
                ("messageStop", #"{"stopReason":"guardrail_intervened"}"#)), Reading(text: "a", verdict: .ended(.filtered))),
        Transcript(
            "an exception in the stream", BedrockConverse.self,
            bytes: events(("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#))
                + AmazonEvent(
                    headers: [(":exception-type", "throttlingException"), (":message-type", "exception")],
                    payload: Array(#"{"message":"secret"}"#.utf8)
                ).bytes, Reading(text: "a", verdict: .broken(.errorFrame, detail: "throttlingException", about: .rateLimit))),
        Transcript(
            "an error that has no exception's type", BedrockConverse.self,
            bytes: events(("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#))
                + AmazonEvent(
                    headers: [(":message-type", "error"), (":error-code", "throttlingException"), (":error-message", "secret")], payload: []
                ).bytes, Reading(text: "a", verdict: .broken(.errorFrame, detail: "throttlingException", about: .rateLimit))),
        Transcript(
            "a model's output that cannot be read", BedrockConverse.self,
            bytes: events(
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#),
                ("messageStop", #"{"stopReason":"malformed_model_output"}"#)),
            Reading(text: "a", verdict: .broken(.errorFrame, detail: "malformed_model_output"))),
        Transcript(
            "text behind the stop counts", BedrockConverse.self,
            bytes: events(
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#), ("messageStop", #"{"stopReason":"end_turn"}"#),
                ("metadata", #"{"usage":{"inputTokens":1,"outputTokens":2}}"#),
                ("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"b"}}"#)),
            Reading(text: "ab", usage: TokenUsage(input: 1, output: 2), verdict: .ended(.stop))),
        Transcript(
            "an end without messageStop was a cut", BedrockConverse.self,
            bytes: events(("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#)), Reading(text: "a", verdict: .cut)),
        Transcript(
            "a wrong checksum", BedrockConverse.self,
            bytes: events(("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"a"}}"#))
                + events(("contentBlockDelta", #"{"contentBlockIndex":0,"delta":{"text":"b"}}"#)).dropLast() + [0],
            Reading(text: "a", verdict: .broken(.errorFrame, detail: "wrong checksum"))),
    ]

    private static func events(_ events: (type: String, json: String)...) -> [UInt8] {
        events.flatMap {
            AmazonEvent(
                headers: [(":event-type", $0.type), (":content-type", "application/json"), (":message-type", "event")],
                payload: Array($0.json.utf8)
            ).bytes
        }
    }
}
