/// The bytes of a chunked answer in the chat-completions dialect. Built once; only the stamps are overwritten for each write.
struct AnswerBytes: ~Copyable {
    static let maximumPack = 64

    /// The head of the response and the first chunk, in one piece as providers send them.
    let opening: [UInt8]
    /// The finish reason, usage, `[DONE]` and the end of the body.
    let closing: [UInt8]
    /// `maximumPack` copies of a token's chunk.
    let tokens: UnsafeMutablePointer<UInt8>
    let tokenLength: Int
    private let stampOffset: Int

    init() {
        let prefix =
            #"{"id":"chatcmpl-BcdFghJklMnpQrsTvwXyz0123456","object":"chat.completion.chunk","created":1760000000,"#
            + #""model":"gpt-4.1-mini-2025-04-14","service_tier":"default","system_fingerprint":"fp_0123456789","choices":["#
        func event(_ text: String) -> String {
            let data = "data: \(text)\n\n"
            return String(data.utf8.count, radix: 16) + "\r\n" + data + "\r\n"
        }
        func choice(_ delta: String, finish: String) -> String {
            event(prefix + #"{"index":0,"delta":\#(delta),"logprobs":null,"finish_reason":\#(finish)}]}"#)
        }
        opening = Array(
            ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n"
                + choice(#"{"role":"assistant","content":"","refusal":null}"#, finish: "null")).utf8)
        let usage = #"],"usage":{"prompt_tokens":900,"completion_tokens":400,"total_tokens":1300}}"#
        closing = Array((choice("{}", finish: #""stop""#) + event(prefix + usage) + event("[DONE]") + "0\r\n\r\n").utf8)

        let token = Array(choice(#"{"content":"\#(Stamp.placeholder)"}"#, finish: "null").utf8)
        tokenLength = token.count
        stampOffset = (token.firstIndex(of: Stamp.mark) ?? 0) + 1
        tokens = .allocate(capacity: token.count * Self.maximumPack)
        for copy in 0..<Self.maximumPack {
            (tokens + copy * token.count).initialize(from: token, count: token.count)
        }
    }

    deinit { tokens.deallocate() }

    /// `count` tokens with the stamp `time`. Valid until the next call.
    @inline(__always)
    func stamped(_ count: Int, at time: UInt64) -> UnsafeRawBufferPointer {
        for copy in 0..<count { Stamp.write(time, to: tokens + copy * tokenLength + stampOffset) }
        return UnsafeRawBufferPointer(start: tokens, count: count * tokenLength)
    }
}
