import JSON
import NIOCore
import NIOHTTP1

/// OpenAI Responses.
enum ResponsesDialect: SimulatedDialect {
    static let contentType = "text/event-stream; charset=utf-8"

    static func matches(_ request: ReceivedRequest) -> Bool { request.path == "/v1/responses" }

    static func key(_ headers: HTTPHeaders) -> String? { headers.bearerToken }

    static func parse(_ request: ReceivedRequest, _ json: JSONValue) throws(DialectFault) -> ChatRequest {
        guard let model = json["model"]?.string else { throw .invalid("Missing required parameter: 'model'.") }
        guard json["stream"] == true else { throw .invalid("this simulator only streams") }
        var turns = json["instructions"]?.string.map { [ChatRequest.Turn(role: "system", text: $0)] } ?? []
        if let text = json["input"]?.string { turns.append(.init(role: "user", text: text)) }
        for item in json["input"]?.elements ?? [] {
            guard let role = item["role"]?.string else { throw .invalid("Missing required parameter: 'input[0].role'.") }
            let parts = (item["content"]?.elements ?? []).compactMap { $0["text"]?.string }
            turns.append(.init(role: role, text: item["content"]?.string ?? parts.joined(separator: "\n")))
        }
        guard !turns.isEmpty else { throw .invalid("Missing required parameter: 'input'.") }
        var parsed = ChatRequest(model: model, turns: turns)
        parsed.maxTokens = json["max_output_tokens"]?.integer.map { Int($0) }
        return parsed
    }

    static func response(to fault: DialectFault) -> FixedResponse {
        var error = OpenAIFault(
            Script.HTTPError(status: fault.status, code: fault.code, message: fault.message), model: "")
        if fault.status == 404 { error.code = "model_not_found" }
        return FixedResponse(status: fault.status, headers: [("content-type", "application/json")], body: error.body)
    }

    static func encode(_ content: ResponsePlan.FrameContent, of answer: DialectAnswer, into buffer: inout ByteBuffer) {
        let item = #""item_id":"msg_\#(answer.id)","output_index":0,"content_index":0"#
        func write(_ type: String, _ members: String) {
            buffer.writeEvent(type, #"{"type":"\#(type)",\#(members),"sequence_number":\#(answer.nextNumber())}"#)
        }
        switch content {
        case .opening:
            let response = response(answer, status: "in_progress", output: "[]", usage: "null")
            write("response.created", response)
            write("response.in_progress", response)
            write("response.output_item.added", #""output_index":0,"item":\#(message(answer, status: "in_progress", content: "[]"))"#)
            write("response.content_part.added", #"\#(item),"part":{"type":"output_text","text":"","annotations":[]}"#)
        case .thinking(let text):
            write(
                "response.reasoning_summary_text.delta",
                #""item_id":"rs_\#(answer.id)","output_index":0,"summary_index":0,"delta":\#(jsonString(text))"#)
        case .token(let text): write("response.output_text.delta", #"\#(item),"delta":\#(jsonString(text)),"logprobs":[]"#)
        case .finish(let reason):
            write("response.output_text.done", #"\#(item),"text":\#(jsonString(answer.text)),"logprobs":[]"#)
            write("response.content_part.done", #"\#(item),"part":\#(part(answer))"#)
            let whole = message(answer, status: "completed", content: "[\(part(answer))]")
            write("response.output_item.done", #""output_index":0,"item":\#(whole)"#)
            let usage = answer.reportsUsage ? usage(answer.usage) : "null"
            switch reason {
            case "stop":
                write("response.completed", response(answer, status: "completed", output: "[\(whole)]", usage: usage))
            default:
                let details = #"{"reason":\#(jsonString(reason == "length" ? "max_output_tokens" : reason))}"#
                write(
                    "response.incomplete",
                    response(answer, status: "incomplete", output: "[\(whole)]", usage: usage, incomplete: details))
            }
        case .error(let error), .bareError(let error):
            write(
                "error",
                #""code":\#(jsonString(error.code ?? "server_error")),"message":\#(jsonString(error.message ?? "error")),"param":null"#)
        case .comment(let text): buffer.writeString(": \(text)\n\n")
        case .usage, .done, .whole: break
        }
    }

    private static func part(_ answer: DialectAnswer) -> String {
        #"{"type":"output_text","text":\#(jsonString(answer.text)),"annotations":[]}"#
    }

    private static func message(_ answer: DialectAnswer, status: String, content: String) -> String {
        #"{"id":"msg_\#(answer.id)","type":"message","role":"assistant","status":"\#(status)","content":\#(content)}"#
    }

    private static func response(
        _ answer: DialectAnswer, status: String, output: String, usage: String, incomplete: String = "null"
    ) -> String {
        #""response":{"id":"resp_\#(answer.id)","object":"response","created_at":1,"status":"\#(status)","error":null,"#
            + #""incomplete_details":\#(incomplete),"instructions":null,"metadata":{},"model":\#(jsonString(answer.model)),"#
            + #""output":\#(output),"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1,"usage":\#(usage)}"#
    }

    private static func usage(_ usage: TokenUsage) -> String {
        #"{"input_tokens":\#(usage.prompt),"input_tokens_details":{"cached_tokens":\#(usage.cached)},"#
            + #""output_tokens":\#(usage.completion),"output_tokens_details":{"reasoning_tokens":\#(usage.reasoning)},"#
            + #""total_tokens":\#(usage.prompt + usage.completion)}"#
    }
}
