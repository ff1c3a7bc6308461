import JSON
import NIOCore
import NIOHTTP1

/// Anthropic Messages.
enum AnthropicDialect: SimulatedDialect {
    static let contentType = "text/event-stream; charset=utf-8"

    static func matches(_ request: ReceivedRequest) -> Bool { request.path == "/v1/messages" }

    /// The official package sends a bearer token since its second version; the field is the older way.
    static func key(_ headers: HTTPHeaders) -> String? { headers.first(name: "x-api-key") ?? headers.bearerToken }

    static func parse(_ request: ReceivedRequest, _ json: JSONValue) throws(DialectFault) -> ChatRequest {
        guard request.headers.first(name: "anthropic-version") != nil else { throw .invalid("anthropic-version: header is required") }
        guard let model = json["model"]?.string else { throw .invalid("model: Field required") }
        guard let limit = json["max_tokens"]?.integer, limit > 0 else { throw .invalid("max_tokens: Field required") }
        guard json["stream"] == true else { throw .invalid("this simulator only streams") }
        if let temperature = json["temperature"]?.number, !(0...1).contains(temperature) { throw .invalid("temperature: range: 0..1") }
        let marks = json["system"]?.elements?.map { $0["cache_control"] != nil } ?? []
        var turns = zip(try texts(json["system"]), marks + [false]).map { ChatRequest.Turn(role: "system", text: $0, isCacheMark: $1) }
        for message in json["messages"]?.elements ?? [] {
            guard let role = message["role"]?.string, ["user", "assistant"].contains(role) else {
                throw .invalid("messages: roles must be user or assistant")
            }
            turns.append(
                .init(
                    role: role, text: try texts(message["content"]).joined(separator: "\n"),
                    isCacheMark: message["content"]?.elements?.last?["cache_control"] != nil))
        }
        guard turns.contains(where: { $0.role == "user" }) else { throw .invalid("messages: at least one message is required") }
        var parsed = ChatRequest(model: model, turns: turns)
        parsed.maxTokens = Int(limit)
        parsed.hasCacheMarks = true
        return parsed
    }

    private static func texts(_ content: JSONValue?) throws(DialectFault) -> [String] {
        switch content {
        case nil, .null?: return []
        case .string(let text)?: return [text]
        default:
            let texts = content?.elements?.map { $0["text"]?.string ?? "" } ?? []
            guard !texts.contains("") else { throw .invalid("messages: text content blocks must be non-empty") }
            return texts
        }
    }

    static func response(to fault: DialectFault) -> FixedResponse {
        let type = fault.code ?? type(of: fault.status)
        let body: JSONValue = [
            "type": "error", "error": ["type": .string(type), "message": .string(fault.message)], "request_id": "req_sim",
        ]
        return FixedResponse(status: fault.status, headers: [("content-type", "application/json")], body: body.bytes)
    }

    private static func type(of status: Int) -> String {
        switch status {
        case 401: "authentication_error"
        case 402: "billing_error"
        case 403: "permission_error"
        case 404: "not_found_error"
        case 413: "request_too_large"
        case 429: "rate_limit_error"
        case 529: "overloaded_error"
        case 500...: "api_error"
        default: "invalid_request_error"
        }
    }

    static func encode(_ content: ResponsePlan.FrameContent, of answer: DialectAnswer, into buffer: inout ByteBuffer) {
        let textIndex = answer.thinking == nil ? 0 : 1
        switch content {
        case .opening:
            let usage = answer.reportsUsage ? inputUsage(answer.usage) + #","output_tokens":1"# : ""
            buffer.writeEvent(
                "message_start",
                #"{"type":"message_start","message":{"id":"msg_\#(answer.id)","type":"message","role":"assistant","content":[],"#
                    + #""model":\#(jsonString(answer.model)),"stop_reason":null,"stop_sequence":null,"usage":{\#(usage)}}}"#)
            buffer.writeEvent("ping", #"{"type": "ping"}"#)
            if answer.thinking == nil { writeTextStart(0, into: &buffer) }
        case .thinking(let text):
            buffer.writeEvent(
                "content_block_start",
                #"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#)
            buffer.writeEvent(
                "content_block_delta",
                #"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":\#(jsonString(text))}}"#)
            buffer.writeEvent(
                "content_block_delta", #"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#)
            buffer.writeEvent("content_block_stop", #"{"type":"content_block_stop","index":0}"#)
            writeTextStart(1, into: &buffer)
        case .token(let text):
            buffer.writeEvent(
                "content_block_delta",
                #"{"type":"content_block_delta","index":\#(textIndex),"delta":{"type":"text_delta","text":\#(jsonString(text))}}"#)
        case .finish(let reason):
            buffer.writeEvent("content_block_stop", #"{"type":"content_block_stop","index":\#(textIndex)}"#)
            let thinking =
                answer.usage.reasoning > 0 ? #","output_tokens_details":{"thinking_tokens":\#(answer.usage.reasoning)}"# : ""
            let usage =
                answer.reportsUsage
                ? #","usage":{\#(inputUsage(answer.usage)),"output_tokens":\#(answer.usage.completion)\#(thinking)}"# : ""
            buffer.writeEvent(
                "message_delta",
                #"{"type":"message_delta","delta":{"stop_reason":\#(jsonString(stopReason(reason))),"stop_sequence":null}\#(usage)}"#)
        case .done: buffer.writeEvent("message_stop", #"{"type":"message_stop"}"#)
        case .error(let error), .bareError(let error):
            buffer.writeEvent(
                "error",
                #"{"type":"error","error":{"type":\#(jsonString(error.type ?? "overloaded_error")),"#
                    + #""message":\#(jsonString(error.message ?? "Overloaded"))}}"#)
        case .comment(let text): buffer.writeString(": \(text)\n\n")
        case .usage, .whole: break
        }
    }

    private static func writeTextStart(_ index: Int, into buffer: inout ByteBuffer) {
        buffer.writeEvent(
            "content_block_start", #"{"type":"content_block_start","index":\#(index),"content_block":{"type":"text","text":""}}"#)
    }

    /// What the cache gave or keeps is not part of `input_tokens`.
    private static func inputUsage(_ usage: TokenUsage) -> String {
        #""input_tokens":\#(usage.prompt - usage.cached - usage.cacheWrite),"cache_creation_input_tokens":\#(usage.cacheWrite),"#
            + #""cache_read_input_tokens":\#(usage.cached)"#
    }

    private static func stopReason(_ reason: String) -> String {
        switch reason {
        case "stop": "end_turn"
        case "length": "max_tokens"
        case "content_filter": "refusal"
        default: reason
        }
    }
}
