import JSON
import NIOCore
import Testing

@testable import ProviderSimulator

@Suite("The chat-completions dialect")
struct OpenAIDialectTests {
    private static func encoder(streamed: Bool, usage: Bool) -> OpenAIResponseEncoder {
        var request = ChatRequest(model: "sim-coach-1", turns: [])
        request.isStreamed = streamed
        return OpenAIResponseEncoder(id: "chatcmpl-1", created: 7, request: request, reportsUsage: usage, headers: [])
    }

    private static func wire(_ content: ResponsePlan.FrameContent, streamed: Bool = true, usage: Bool = false) -> String {
        var buffer = ByteBuffer()
        encoder(streamed: streamed, usage: usage).encode(content, into: &buffer)
        return String(buffer: buffer)
    }

    private static let head =
        #"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"sim-coach-1","service_tier":"default","#
        + #""system_fingerprint":"fp_b3f495c875","choices":["#

    @Test("chunks equal the golden bytes")
    func chunks() {
        let head = "data: " + Self.head
        #expect(
            Self.wire(.opening) == head
                + #"{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]}"# + "\n\n")
        #expect(
            Self.wire(.token("a\"\\\n\u{1}é\u{2028}🌱"), usage: true) == head
                + #"{"index":0,"delta":{"content":"a\"\\\n\u0001é"# + "\u{2028}🌱"
                + #""},"logprobs":null,"finish_reason":null}],"usage":null}"# + "\n\n")
        #expect(Self.wire(.finish("length")) == head + #"{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}"# + "\n\n")
        #expect(Self.wire(.done) == "data: [DONE]\n\n")
        let usage = TokenUsage(prompt: 5, completion: 3, cached: 2, reasoning: 1)
        #expect(
            Self.wire(.usage(usage), usage: true) == head
                + #"],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,"prompt_tokens_details":{"cached_tokens":2,"audio_tokens":0},"#
                + #""completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}"#
                + "\n\n")
    }

    @Test("an error in a stream is an event, outside a stream an object, both with all four fields")
    func errors() {
        let body = #"{"error":{"code":"c","message":"m","param":null,"type":"server_error"}}"#
        #expect(Self.wire(.error(.init(code: "c", message: "m"))) == "data: \(body)\n\n")
        #expect(Self.wire(.error(.init(code: "c", message: "m")), streamed: false) == body)
    }

    @Test("a whole answer is one JSON object")
    func whole() throws {
        let usage = TokenUsage(prompt: 5, completion: 3, cached: 2, reasoning: 1)
        let json = try JSONValue(
            parsing: Array(Self.wire(.whole(text: "hi \"you\"", finishReason: "stop", usage), streamed: false, usage: true).utf8))
        #expect(json["object"] == "chat.completion")
        #expect(json["choices"]?.elements?.first?["message"]?["content"] == #"hi "you""#)
        #expect(json["usage"]?["total_tokens"] == 8)
    }

    @Test(
        "invalid requests are rejected with OpenAI's texts and the name of the parameter",
        arguments: [
            ("{", nil, nil), (#"{"messages":[]}"#, nil, nil), (#"{"model":1,"messages":[]}"#, "model", "invalid_type"),
            (#"{"model":"m"}"#, "messages", "missing_required_parameter"), (#"{"model":"m","messages":"hi"}"#, "messages", "invalid_type"),
            (#"{"model":"m","messages":[]}"#, "messages", "empty_array"), (#"{"model":"m","messages":[1]}"#, "messages[0]", "invalid_type"),
            (#"{"model":"m","messages":[{"content":"x"}]}"#, "messages[0].role", "missing_required_parameter"),
            (#"{"model":"m","messages":[{"role":"user"}]}"#, "messages[0].content", "invalid_type"),
            (#"{"model":"m","messages":[{"role":"user","content":7}]}"#, "messages[0].content", "invalid_type"),
            (#"{"model":"m","messages":[{"role":"user","content":"x"}],"stream":"yes"}"#, "stream", "invalid_type"),
            (#"{"model":"m","messages":[{"role":"user","content":"x"}],"top_p":1.5}"#, "top_p", "decimal_above_max_value"),
            (
                #"{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"usage":true}}"#,
                "stream_options.usage", "unknown_parameter"
            ),
        ] as [(String, String?, String?)])
    func refused(body: String, param: String?, code: String?) {
        let fault = #expect(throws: OpenAIFault.self) { try OpenAIRequest.parse(Array(body.utf8)) }
        #expect(fault?.status == 400)
        #expect(fault?.type == "invalid_request_error")
        #expect(fault?.param == param)
        #expect(fault?.code == code)
    }

    @Test("max_completion_tokens takes precedence over max_tokens, and an assistant message may be empty")
    func accepted() throws {
        let body =
            #"{"model":"m","messages":[{"role":"assistant","content":null},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"max_tokens":3,"max_completion_tokens":9,"stop":"x"}"#
        let request = try OpenAIRequest.parse(Array(body.utf8)).request
        #expect(request.lastUserText == "a\nb")
        #expect(request.maxTokens == 9)
        #expect(request.stops == ["x"])
    }
}
