import CoachCore
import GatewayAPI
import HTTPEdge
import JSON
import TokenRelay

/// The `response` object: a turn in OpenAI's newer protocol (Responses).
struct ResponseObject: Sendable {
    let turn: LiveTurn
    /// The name that `ModelNames` gives it.
    let model: String
    /// The text of the safety card (crisis resources), which precedes the answer; empty below tier 2.
    let card: String
    let isBackground: Bool
    /// The crisis resources for an error; see `TurnPipeline.failureSafety`.
    var failureSafety: StreamSafety?
    var echo = ResponseEcho()

    enum Status: String {
        case inProgress = "in_progress"
        case completed, incomplete, failed, cancelled
    }

    func status(_ ending: TurnEnding?) -> Status {
        switch ending?.finishReason {
        case .safety where ending?.isFiltered(card: card) == true: .incomplete
        case .stop, .safety: .completed
        case .length: .incomplete
        case .stopped: .cancelled
        case nil: ending == nil ? .inProgress : .failed
        }
    }

    /// The response as it is now, with the text so far.
    func encoded() -> [UInt8] { JSONWriter.encode { write(turn.ending, isEmpty: false, to: &$0) } }

    var itemID: String { "msg_\(turn.facts.identity.messageID)" }

    /// The released text with the card before it.
    var text: String { card + String(decoding: turn.released.text, as: UTF8.self) }

    /// - Parameter isEmpty: without output, as at the beginning of a stream.
    func write(_ ending: TurnEnding?, isEmpty: Bool, to writer: inout JSONWriter) {
        let status = status(ending)
        writer.object { writer in
            writer.member("id", ResponseID(turn.facts.identity.turnID, isBackground: isBackground).text)
            writer.member("object", "response")
            writer.member("created_at", turn.facts.startedAt ?? 0)
            writer.member("status", status.rawValue)
            writer.member("background", isBackground)
            writer.key(literal: "error")
            writeError(ending, to: &writer)
            writer.key(literal: "incomplete_details")
            if status == .incomplete {
                writer.object { $0.member("reason", ending?.finishReason == .length ? "max_output_tokens" : "content_filter") }
            } else {
                writer.null()
            }
            writer.member("instructions", echo.instructions)
            for name in ["max_output_tokens", "reasoning", "temperature", "top_p", "user"] as [StaticString] {
                writer.member(name, nil as String?)
            }
            writer.member("model", model)
            writer.key(literal: "output")
            writer.array { writer in
                if !isEmpty { writeItem(ending, text: text, to: &writer) }
            }
            writer.member("parallel_tool_calls", false)
            writer.member("previous_response_id", echo.previous?.text)
            // Always: a request that says otherwise is rejected.
            writer.member("store", true)
            writer.key(literal: "text")
            writer.object { writer in
                writer.key(literal: "format")
                writer.object { $0.member("type", "text") }
            }
            writer.member("tool_choice", "none")
            writer.key(literal: "tools")
            writer.array { _ in }
            writer.member("truncation", "disabled")
            writer.key(literal: "usage")
            if let ending { Self.writeUsage(of: ending, to: &writer) } else { writer.null() }
            writer.key(literal: "metadata")
            JSONValue.object(echo.metadata).write(to: &writer)
        }
    }

    /// The message; `text` nil: without content.
    func writeItem(_ ending: TurnEnding?, text: String?, to writer: inout JSONWriter) {
        let status: Status =
            switch status(ending) {
            case .inProgress: .inProgress
            case .completed: .completed
            case .incomplete, .failed, .cancelled: .incomplete
            }
        writer.object { writer in
            writer.member("id", itemID)
            writer.member("type", "message")
            writer.member("status", status.rawValue)
            writer.member("role", "assistant")
            writer.key(literal: "content")
            writer.array { writer in
                if let text { Self.writePart(text, to: &writer) }
            }
        }
    }

    static func writePart(_ text: String, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("type", "output_text")
            writer.member("text", text)
            writer.key(literal: "annotations")
            writer.array { _ in }
            writer.key(literal: "logprobs")
            writer.array { _ in }
        }
    }

    private func writeError(_ ending: TurnEnding?, to writer: inout JSONWriter) {
        guard let ending, ending.finishReason == nil else { return writer.null() }
        let kept = turn.releasedBytes
        let failure = TerminalEvents(facts: turn.facts, ending: ending, keptBytes: kept, cursor: kept).failure
        writer.object { writer in
            // One of the protocol's codes: its clients decode no other.
            writer.member("code", "server_error")
            writer.member("message", message(of: failure))
        }
    }

    /// The message of an error, with the crisis resources, because these clients show nothing else.
    func message(of failure: StreamFailure) -> String {
        failureSafety.map { "\(failure.message)\n\n\($0.text)" } ?? failure.message
    }

    private static func writeUsage(of ending: TurnEnding, to writer: inout JSONWriter) {
        let usage = ending.usage
        guard let input = usage.totalInput, let output = usage.totalOutput else { return writer.null() }
        writer.object { writer in
            writer.member("input_tokens", input)
            writer.key(literal: "input_tokens_details")
            writer.object { writer in
                writer.member("cached_tokens", usage.cachedInput ?? 0)
                writer.member("cache_write_tokens", usage.cacheWrite ?? 0)
            }
            writer.member("output_tokens", output)
            writer.key(literal: "output_tokens_details")
            writer.object { $0.member("reasoning_tokens", usage.reasoning ?? 0) }
            writer.member("total_tokens", input + output)
        }
    }
}
