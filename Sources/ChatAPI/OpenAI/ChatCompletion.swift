import CoachCore
import GatewayAPI
import HTTPEdge
import JSON
import TokenRelay

/// The `chat.completion` object: a turn in OpenAI's older protocol.
struct ChatCompletion: Sendable {
    let turn: LiveTurn
    /// The name that `ModelNames` gives it.
    let model: String
    /// The text of the safety card (crisis resources), which precedes the answer; empty below tier 2.
    let card: String
    /// The crisis resources for an error; see `TurnPipeline.failureSafety`.
    let failureSafety: StreamSafety?

    /// The whole answer.
    func encoded(_ ending: TurnEnding) -> [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writeHead(to: &writer, object: "chat.completion")
                writer.key(literal: "choices")
                writer.array { writer in
                    writer.object { writer in
                        writer.member("index", 0)
                        writer.key(literal: "message")
                        writer.object { writer in
                            writer.member("role", "assistant")
                            writer.member("content", card + String(decoding: turn.released.text, as: UTF8.self))
                            writer.member("refusal", nil as String?)
                        }
                        writer.member("logprobs", nil as String?)
                        writer.member("finish_reason", finishReason(ending))
                    }
                }
                writer.key(literal: "usage")
                Self.writeUsage(of: ending, to: &writer)
            }
        }
    }

    /// The members that every chunk has.
    func writeHead(to writer: inout JSONWriter, object: String) {
        writer.member("id", "chatcmpl-\(turn.facts.identity.turnID)")
        writer.member("object", object)
        writer.member("created", turn.facts.startedAt ?? 0)
        writer.member("model", model)
        writer.member("system_fingerprint", nil as String?)
    }

    /// A stopped answer is as good as a whole one for these clients.
    func finishReason(_ ending: TurnEnding) -> String {
        if ending.isFiltered(card: card) { return "content_filter" }
        return ending.finishReason == .length ? "length" : "stop"
    }

    /// The usage object, or `null` when the counts are unknown.
    static func writeUsage(of ending: TurnEnding, to writer: inout JSONWriter) {
        let usage = ending.usage
        guard let input = usage.totalInput, let output = usage.totalOutput else { return writer.null() }
        writer.object { writer in
            writer.member("prompt_tokens", input)
            writer.member("completion_tokens", output)
            writer.member("total_tokens", input + output)
            writer.key(literal: "prompt_tokens_details")
            writer.object { $0.member("cached_tokens", usage.cachedInput ?? 0) }
            writer.key(literal: "completion_tokens_details")
            writer.object { $0.member("reasoning_tokens", usage.reasoning ?? 0) }
        }
    }
}

extension TurnEnding {
    /// Whether the provider's filter ended the answer, for clients of OpenAI's protocols. Never of an answer with a card, which ends with `safety` also
    /// when a fixed text is the answer: some clients hide a filtered answer, and with it the crisis resources.
    func isFiltered(card: String) -> Bool { finishReason == .safety && card.isEmpty }
}
