import NIOCore

/// Encodes one answer in the chat-completions dialect: server-sent events when streamed, otherwise one object. Escapes only what JSON
/// requires, so that U+2028 and similar characters are sent unescaped, as real providers do.
struct OpenAIResponseEncoder: ResponseEncoder {
    let status: Int
    let headers: [(name: String, value: String)]
    private let isStreamed: Bool
    /// Whether chunks have a `usage` field.
    private let reportsUsage: Bool
    /// The part of a chunk before its choices, equal in all chunks of an answer.
    private let prefix: String
    private let suffix: String
    /// Whether the results of Azure's content filters are sent.
    private let isAzure: Bool

    init(
        id: String, created: Int, request: ChatRequest, reportsUsage: Bool, isAzure: Bool = false, status: Int = 200,
        headers: [(name: String, value: String)]
    ) {
        self.isAzure = isAzure
        self.status = status
        self.headers = headers
        isStreamed = request.isStreamed
        self.reportsUsage = reportsUsage
        let fingerprint = "fp_" + String(stableHash(request.model) >> 24, radix: 16)
        let object = request.isStreamed ? "chat.completion.chunk" : "chat.completion"
        prefix =
            #"{"id":"\#(id)","object":"\#(object)","created":\#(created),"model":\#(jsonString(request.model)),"#
            + #""service_tier":"default","system_fingerprint":"\#(fingerprint)","choices":["#
        suffix = reportsUsage ? #"],"usage":null}"# : "]}"
    }

    func encode(_ content: ResponsePlan.FrameContent, into buffer: inout ByteBuffer) {
        switch content {
        case .opening:
            if isAzure { writePromptFilter(into: &buffer) }
            writeChunk(#"{"role":"assistant","content":"","refusal":null}"#, finishReason: "null", into: &buffer)
        case .comment(let text): buffer.writeString(": \(text)\n\n")
        case .thinking(let text): writeChunk(#"{"reasoning_content":\#(jsonString(text))}"#, finishReason: "null", into: &buffer)
        case .token(let text):
            buffer.writeString("data: ")
            buffer.writeString(prefix)
            buffer.writeString(#"{"index":0,"delta":{"content":"#)
            buffer.writeJSONString(text)
            buffer.writeString(#"},"logprobs":null,"finish_reason":null}"#)
            buffer.writeString(suffix)
            buffer.writeString("\n\n")
        case .finish(let reason): writeChunk("{}", finishReason: jsonString(reason), into: &buffer)
        case .usage(let usage): buffer.writeString(#"data: \#(prefix)],"usage":\#(Self.json(usage))}\#n\#n"#)
        case .error(let error): writeError(error, into: &buffer)
        case .bareError(let error): buffer.writeString(#"{"error":\#(jsonString(error.message ?? "an error was encountered"))}\#n"#)
        case .done: buffer.writeString("data: [DONE]\n\n")
        case .whole(let text, let finishReason, let usage):
            buffer.writeString(#"\#(prefix){"index":0,"message":{"role":"assistant","content":"#)
            buffer.writeJSONString(text)
            buffer.writeString(#","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":\#(jsonString(finishReason))}]"#)
            buffer.writeString(reportsUsage ? #","usage":\#(Self.json(usage))}"# : "}")
        }
    }

    /// The first frame of Azure OpenAI, without a model or a choice.
    private func writePromptFilter(into buffer: inout ByteBuffer) {
        buffer.writeString(
            #"data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"#
                + #""content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}\#n\#n"#)
    }

    private func writeChunk(_ delta: String, finishReason: String, into buffer: inout ByteBuffer) {
        buffer.writeString(
            #"data: \#(prefix){"index":0,"delta":\#(delta),"logprobs":null,"finish_reason":\#(finishReason)}\#(suffix)\#n\#n"#)
    }

    private func writeError(_ error: Script.ErrorBody, into buffer: inout ByteBuffer) {
        let fault = OpenAIFault(
            status: status,
            message: error.message ?? "The server had an error while processing your request. Sorry about that!",
            type: error.type ?? "server_error", code: error.code)
        if isStreamed { buffer.writeString("data: ") }
        buffer.writeBytes(fault.body)
        if isStreamed { buffer.writeString("\n\n") }
    }

    private static func json(_ usage: TokenUsage) -> String {
        #"{"prompt_tokens":\#(usage.prompt),"completion_tokens":\#(usage.completion),"total_tokens":\#(usage.prompt + usage.completion),"#
            + #""prompt_tokens_details":{"cached_tokens":\#(usage.cached),"audio_tokens":0},"#
            + #""completion_tokens_details":{"reasoning_tokens":\#(usage.reasoning),"audio_tokens":0,"#
            + #""accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#
    }
}
