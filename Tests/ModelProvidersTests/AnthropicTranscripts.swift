import CoachCore

@testable import ModelProviders

extension Transcript {
    static let anthropic = [
        Transcript(
            "thinking, text, pings and cumulative usage", AnthropicMessages.self,
            #"""
            event: message_start
            data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":7,"cache_read_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":7,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}

            event: content_block_start
            data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

            event: ping
            data: {"type": "ping"}

            event: content_block_delta
            data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"The user is sad."}}

            event: content_block_delta
            data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM"}}

            event: content_block_stop
            data: {"type":"content_block_stop","index":0}

            event: content_block_start
            data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

            event: content_block_delta
            data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grüß "}}

            event: content_block_delta
            data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"dich 👋🏽"}}

            event: content_block_delta
            data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"\u2028\"ok\""}     }

            event: content_block_stop
            data: {"type":"content_block_stop","index":1}

            event: message_delta
            data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":25,"cache_creation_input_tokens":7,"cache_read_input_tokens":100,"output_tokens":40,"output_tokens_details":{"thinking_tokens":28}}}

            event: message_stop
            data: {"type":"message_stop"}


            """#,
            Reading(
                text: "Grüß dich 👋🏽\u{2028}\"ok\"", usage: TokenUsage(input: 25, cachedInput: 100, cacheWrite: 7, output: 12, reasoning: 28),
                verdict: .ended(.stop), reasoningBytes: 16)),
        Transcript(
            "a compatible server that counts what its cache gave at the end only", AnthropicMessages.self,
            #"""
            data: {"type":"message_start","message":{"usage":{"input_tokens":1000,"output_tokens":1}}}

            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

            data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10,"cache_read_input_tokens":990,"output_tokens":3}}

            data: {"type":"message_stop"}


            """#, Reading(text: "a", usage: TokenUsage(input: 10, cachedInput: 990, output: 3), verdict: .ended(.stop))),
        Transcript(
            "a compatible server that ends with zeros", AnthropicMessages.self,
            #"""
            data: {"type":"message_start","message":{"usage":{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":1}}}

            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

            data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}

            data: {"type":"message_stop"}


            """#, Reading(text: "a", usage: TokenUsage(input: 7, cachedInput: 3, output: 3), verdict: .ended(.stop))),
        Transcript(
            "the end of the context window", AnthropicMessages.self,
            #"""
            event: content_block_delta
            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

            event: message_delta
            data: {"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":3}}

            event: message_stop
            data: {"type":"message_stop"}


            """#, Reading(text: "a", usage: TokenUsage(output: 3), verdict: .ended(.length))),
        Transcript(
            "a refusal in the middle", AnthropicMessages.self,
            #"""
            event: message_start
            data: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}

            event: content_block_delta
            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"First"}}

            event: message_delta
            data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"bio"}},"usage":{"output_tokens":3}}

            event: message_stop
            data: {"type":"message_stop"}


            """#, Reading(text: "First", usage: TokenUsage(input: 5, output: 3), verdict: .ended(.filtered))),
        Transcript(
            "the token limit, and a connection that ends before message_stop", AnthropicMessages.self,
            #"""
            event: content_block_delta
            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

            event: message_delta
            data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":1}}


            """#, Reading(text: "a", usage: TokenUsage(output: 1), verdict: .ended(.length))),
        Transcript(
            "overloaded after some text", AnthropicMessages.self,
            #"""
            event: content_block_delta
            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so far"}}

            event: error
            data: {"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}


            """#, Reading(text: "so far", verdict: .broken(.errorFrame, detail: "overloaded_error"))),
        Transcript(
            "text behind the stop reason counts", AnthropicMessages.self,
            #"""
            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

            data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}

            data: {"type":"message_stop"}


            """#, Reading(text: "ab", usage: TokenUsage(output: 3), verdict: .ended(.stop))),
        Transcript(
            "tools, citations and a future delta are no text", AnthropicMessages.self,
            #"""
            data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"text\":\"x\"}"}}

            data: {"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"cited_text":"no"}}}

            data: {"type":"content_block_delta","index":0,"delta":{"type":"future_delta","text":"no"}}

            data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"yes"}}

            data: {"type":"message_stop"}


            """#, Reading(text: "yes", verdict: .ended(.stop))),
    ]

    static let gemini = [
        Transcript(
            "thoughts, cumulative usage, CRLF", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"Let me think","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":20,"cachedContentTokenCount":8,"totalTokenCount":26,"thoughtsTokenCount":6},"modelVersion":"gemini-2.5-flash","responseId":"r"}

            data: {"candidates":[{"content":{"parts":[{"text":"Grüß "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":20,"cachedContentTokenCount":8,"candidatesTokenCount":2,"totalTokenCount":28,"thoughtsTokenCount":6}}

            data: {"candidates":[{"content":{"parts":[{"text":"di"},{"text":"ch"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":20,"cachedContentTokenCount":8,"candidatesTokenCount":5,"totalTokenCount":31,"thoughtsTokenCount":6,"toolUsePromptTokenCount":3}}


            """#.replacing("\n", with: "\r\n"),
            Reading(
                text: "Grüß dich", usage: TokenUsage(input: 15, cachedInput: 8, output: 5, reasoning: 6), verdict: .ended(.stop),
                reasoningBytes: 12)),
        Transcript(
            "a last count that is lower", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"We"}]},"index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":30}}

            data: {"candidates":[{"content":{"parts":[{"text":"ll"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":20}}


            """#, Reading(text: "Well", usage: TokenUsage(input: 9, output: 20), verdict: .ended(.stop))),
        Transcript(
            "the prompt is blocked", Gemini.self,
            #"""
            data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}


            """#, Reading(usage: TokenUsage(input: 4, output: 0), verdict: .ended(.filtered))),
        Transcript(
            "a safety stop without content", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"Well"}],"role":"model"}}]}

            data: {"candidates":[{"finishReason":"SAFETY","index":0,"safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true}]}]}


            """#, Reading(text: "Well", verdict: .ended(.filtered))),
        Transcript(
            "a recitation, still billed", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"Well"}],"role":"model"}}]}

            data: {"candidates":[{"finishReason":"RECITATION","index":0}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":1,"totalTokenCount":5}}


            """#, Reading(text: "Well", usage: TokenUsage(input: 4, output: 1), verdict: .ended(.filtered))),
        Transcript(
            "an end for another reason", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"Well"}],"role":"model"}}]}

            data: {"candidates":[{"finishReason":"OTHER","index":0}]}


            """#, Reading(text: "Well", verdict: .broken(.errorFrame, detail: "OTHER"))),
        Transcript(
            "a bare error line", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"Well"}],"role":"model"}}]}

            {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}

            """#, Reading(text: "Well", verdict: .broken(.errorFrame, detail: "UNAVAILABLE"))),
        Transcript(
            "the token limit after thoughts alone", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS","index":0}],"usageMetadata":{"promptTokenCount":4,"totalTokenCount":104,"thoughtsTokenCount":100}}


            """#, Reading(usage: TokenUsage(input: 4, output: 0, reasoning: 100), verdict: .ended(.length))),
        Transcript(
            "text behind the finish reason counts", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP","index":0}]}

            data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"index":0}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2}}


            """#, Reading(text: "ab", usage: TokenUsage(input: 4, output: 2), verdict: .ended(.stop))),
        Transcript(
            "a stream without a finish reason was cut", Gemini.self,
            #"""
            data: {"candidates":[{"content":{"parts":[{"text":"Well"}]}}]}


            """#, Reading(text: "Well", verdict: .cut)),
    ]
}
