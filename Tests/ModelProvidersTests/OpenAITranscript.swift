import CoachCore
import Testing

@testable import ModelProviders

extension Transcript {
    static let openAIChat = [openAI, vLLM, ollama, crlf, errorAfterText]

    /// OpenAI: role first, obfuscation, usage before the end mark.
    static let openAI = Transcript(
        "OpenAI", OpenAIChat.self,
        #"""
        data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-mini-2025-04-14","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aXj"}

        data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Grüß "},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x"}

        data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"dich 👋🏽\u2028\"ok\""},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":""}

        data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

        data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":2,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}

        data: [DONE]


        """#,
        Reading(
            text: "Grüß dich 👋🏽\u{2028}\"ok\"", usage: TokenUsage(input: 15, cachedInput: 4, output: 8, reasoning: 2), verdict: .ended(.stop)
        ))

    /// vLLM: cumulative usage on every chunk, no space needed after the colon.
    static let vLLM = Transcript(
        "vLLM", OpenAIChat.self,
        #"""
        data:{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":5,"total_tokens":5,"completion_tokens":0}}

        data:{"choices":[{"index":0,"delta":{"content":"one"}}],"usage":{"prompt_tokens":5,"total_tokens":6,"completion_tokens":1}}

        data:{"choices":[{"index":0,"delta":{"content":" two"},"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2}}

        data:[DONE]


        """#,
        Reading(text: "one two", usage: TokenUsage(input: 5, output: 2), verdict: .ended(.length)))

    /// Ollama: role on every delta, thinking beside the text, usage with an empty choices list.
    static let ollama = Transcript(
        "Ollama", OpenAIChat.self,
        #"""
        : ping

        data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"let me think"},"finish_reason":null}]}

        data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"hello"},"finish_reason":null}]}

        data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}

        data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14}}

        data: [DONE]


        """#,
        Reading(text: "hello", usage: TokenUsage(input: 11, output: 3), verdict: .ended(.stop), reasoningBytes: 12))

    /// CRLF, data over two lines, and no end mark.
    static let crlf = Transcript(
        "CRLF without [DONE]", OpenAIChat.self,
        "data: {\"choices\":[{\"index\":0,\r\ndata: \"delta\":{\"content\":\"a\\nb\"}}]}\r\n\r\n"
            + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\r\n\r\n",
        Reading(text: "a\nb", verdict: .ended(.filtered)))

    /// An error in the middle, followed by the end mark of success.
    static let errorAfterText = Transcript(
        "error after text", OpenAIChat.self,
        #"""
        data: {"choices":[{"index":0,"delta":{"content":"so far"}}]}

        data: {"error":{"message":"The engine is overloaded","type":"server_error","param":null,"code":"engine_overloaded"}}

        data: [DONE]


        """#,
        Reading(text: "so far", verdict: .broken(.errorFrame, detail: "engine_overloaded")))
}
