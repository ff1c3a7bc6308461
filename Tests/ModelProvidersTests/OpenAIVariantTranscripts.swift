import CoachCore

@testable import ModelProviders

extension Transcript {
    static let compatible = [
        Transcript(
            "OpenRouter: comments, usage beside an empty choice", OpenAICompatible.self,
            #"""
            : OPENROUTER PROCESSING

            : OPENROUTER PROCESSING

            data: {"id":"gen-1","provider":"X","model":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","reasoning":null},"finish_reason":null,"native_finish_reason":null}]}

            data: {"id":"gen-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"end_turn"}]}

            data: {"id":"gen-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":8,"completion_tokens":3,"total_tokens":11,"cost":0.00014,"cost_details":{"upstream_inference_cost":null},"is_byok":false,"prompt_tokens_details":{"cached_tokens":6,"cache_write_tokens":1},"completion_tokens_details":{"reasoning_tokens":1}}}

            data: [DONE]


            """#,
            Reading(
                text: "Hi", usage: TokenUsage(input: 1, cachedInput: 6, cacheWrite: 1, output: 2, reasoning: 1), verdict: .ended(.stop))),
        Transcript(
            "OpenRouter: an error beside the finish reason error", OpenAICompatible.self,
            #"""
            data: {"choices":[{"index":0,"delta":{"content":"so"}}]}

            data: {"id":"gen-1","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}


            """#, Reading(text: "so", verdict: .broken(.errorFrame, detail: "502"))),
        Transcript(
            "vLLM: reasoning, an error frame, then [DONE]", OpenAICompatible.self,
            #"""
            data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

            data: {"choices":[{"index":0,"delta":{"reasoning":"secret thought"}}]}

            data: {"choices":[{"index":0,"delta":{"content":"a"}}]}

            data: {"error":{"message":"EngineCore died","type":"InternalServerError","param":null,"code":500}}

            data: [DONE]


            """#, Reading(text: "a", verdict: .broken(.errorFrame, detail: "500"), reasoningBytes: 14)),
        Transcript(
            "llama.cpp: bare pings, null content, timings", OpenAICompatible.self,
            #"""
            :

            data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"c","object":"chat.completion.chunk"}

            :

            data: {"choices":[{"finish_reason":null,"index":0,"delta":{"reasoning_content":"hm"}}]}

            data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Ja"}}]}

            data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}]}

            data: {"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":7,"total_tokens":9},"timings":{"cache_n":3,"prompt_n":4,"predicted_n":2}}

            data: [DONE]


            """#, Reading(text: "Ja", usage: TokenUsage(input: 7, output: 2), verdict: .ended(.length), reasoningBytes: 2)),
        Transcript(
            "llama.cpp: an error under 200 that is no event", OpenAICompatible.self,
            "{\n  \"error\": {\n    \"code\": 400,\n    \"message\": \"secret\",\n    \"type\": \"exceed_context_size_error\"\n  }\n}\n",
            Reading(verdict: .broken(.errorFrame, detail: "400", about: .badRequest))),
        Transcript(
            "Ollama: a bare error line in the middle, no end mark", OpenAICompatible.self,
            #"""
            data: {"id":"chatcmpl-7","choices":[{"index":0,"delta":{"role":"assistant","content":"one"},"finish_reason":null}]}

            {"error":"an error was encountered while running the model"}

            """#, Reading(text: "one", verdict: .broken(.errorFrame, detail: "error"))),
        Transcript(
            "Groq: usage in a member of its own, no [DONE]", OpenAICompatible.self,
            #"""
            data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"x_groq":{"id":"req_1"}}

            data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hey"},"finish_reason":null}]}

            data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.1,"prompt_tokens":18,"prompt_time":0.01,"completion_tokens":4,"total_tokens":22}}}


            """#, Reading(text: "Hey", usage: TokenUsage(input: 18, output: 4), verdict: .ended(.stop))),
        Transcript(
            "Mistral: parts of text and thinking", OpenAICompatible.self,
            #"""
            data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hidden"}]}]},"finish_reason":null}]}

            data: {"id":"c","choices":[{"index":0,"delta":{"content":[{"type":"text","text":"Bon"}]},"finish_reason":null}]}

            data: {"id":"c","choices":[{"index":0,"delta":{"content":"jour"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"total_tokens":9,"completion_tokens":4,"num_cached_tokens":2}}

            data: [DONE]


            """#,
            Reading(text: "Bonjour", usage: TokenUsage(input: 3, cachedInput: 2, output: 4), verdict: .ended(.stop), reasoningBytes: 6)),
        Transcript(
            "DeepSeek: keep-alive comments, cache hits and misses", OpenAICompatible.self,
            #"""
            : keep-alive

            data: {"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"I think"}}]}

            data: {"choices":[{"index":0,"delta":{"content":"Hm","reasoning_content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":6,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":5},"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}}

            data: [DONE]


            """#,
            Reading(
                text: "Hm", usage: TokenUsage(input: 2, cachedInput: 8, output: 1, reasoning: 5), verdict: .ended(.stop),
                reasoningBytes: 7)),
        Transcript(
            "a block of thinking at the beginning of the text, in pieces", OpenAICompatible.self,
            #"""
            data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"\n<"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"think"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":">\nI </th <think> s\u00e9"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"cret<</thi"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"nk>\n"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"\nHi "},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"<think>"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

            data: [DONE]


            """#, Reading(text: "Hi <think>", verdict: .ended(.stop), reasoningBytes: 42)),
        Transcript(
            "text that begins almost like a block of thinking", OpenAICompatible.self,
            #"""
            data: {"choices":[{"index":0,"delta":{"content":" "},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"<think"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"ing aloud> "},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":"</think>"},"finish_reason":"stop"}]}

            data: [DONE]


            """#, Reading(text: " <thinking aloud> </think>", verdict: .ended(.stop))),
        Transcript(
            "text that ends where a block of thinking may begin", OpenAICompatible.self,
            #"""
            data: {"choices":[{"index":0,"delta":{"content":"\n<thi"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}


            """#, Reading(text: "\n<thi", verdict: .ended(.stop))),
        Transcript(
            "a block of thinking that reaches the token limit", OpenAICompatible.self,
            #"""
            data: {"choices":[{"index":0,"delta":{"content":"<think>Hm, </thin"},"finish_reason":null}]}

            data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"length"}]}

            data: [DONE]


            """#, Reading(verdict: .ended(.length), reasoningBytes: 17)),
        Transcript(
            "a block of thinking that is cut", OpenAICompatible.self,
            #"""
            data: {"choices":[{"index":0,"delta":{"content":"\n<thi"},"finish_reason":null}]}


            """#, Reading(verdict: .broken(.cut, detail: "ended without its end mark"), reasoningBytes: 5)),
    ]

    static let azure = [
        Transcript(
            "filter results before, between and behind", AzureOpenAI.self,
            #"""
            data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":false,"detected":false}}}]}

            data: {"choices":[{"content_filter_results":{},"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1,"id":"chatcmpl-1","model":"gpt-4o","object":"chat.completion.chunk","usage":null}

            data: {"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"delta":{"content":"Hi"},"finish_reason":null,"index":0}],"id":"chatcmpl-1","usage":null}

            data: {"choices":[{"content_filter_results":{},"delta":{},"finish_reason":"stop","index":0}],"id":"chatcmpl-1","usage":null}

            data: {"choices":[],"id":"chatcmpl-1","usage":{"completion_tokens":2,"prompt_tokens":9,"total_tokens":11}}

            data: {"choices":[{"content_filter_offsets":{"check_offset":44,"start_offset":44,"end_offset":46},"content_filter_results":{"violence":{"filtered":false,"severity":"safe"}},"finish_reason":null,"index":0}],"id":"","usage":null}

            data: [DONE]


            """#, Reading(text: "Hi", usage: TokenUsage(input: 9, output: 2), verdict: .ended(.stop))),
        Transcript(
            "the output is filtered", AzureOpenAI.self,
            #"""
            data: {"choices":[{"delta":{"content":"Once"},"finish_reason":null,"index":0}]}

            data: {"choices":[{"content_filter_results":{"violence":{"filtered":true,"severity":"high"}},"delta":{},"finish_reason":"content_filter","index":0}]}

            data: [DONE]


            """#, Reading(text: "Once", verdict: .ended(.filtered))),
        Transcript(
            "a refusal, then the token limit", AzureOpenAI.self,
            #"""
            data: {"choices":[{"content_filter_results":{},"delta":{"role":"assistant","content":null,"refusal":"I can't "},"finish_reason":null,"index":0}],"usage":null}

            data: {"choices":[{"content_filter_results":{},"delta":{"refusal":"help"},"finish_reason":null,"index":0}],"usage":null}

            data: {"choices":[{"content_filter_results":{},"delta":{},"finish_reason":"length","index":0}],"usage":null}

            data: {"choices":[],"usage":{"completion_tokens":4,"prompt_tokens":9,"total_tokens":13}}

            data: [DONE]


            """#, Reading(text: "I can't help", usage: TokenUsage(input: 9, output: 4), verdict: .ended(.length))),
    ]

    static let responses = [
        Transcript(
            "text, reasoning and a refusal", OpenAIResponses.self,
            #"""
            event: response.created
            data: {"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"usage":null},"sequence_number":0}

            event: response.output_item.added
            data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]},"sequence_number":1}

            event: response.reasoning_summary_text.delta
            data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"secret","sequence_number":2}

            event: response.output_text.delta
            data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Grüß\n","logprobs":[],"sequence_number":3,"obfuscation":"abc"}

            event: response.output_text.delta
            data: {"delta":"dich","type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"sequence_number":4}

            event: response.refusal.delta
            data: {"type":"response.refusal.delta","item_id":"msg_1","output_index":1,"content_index":1,"delta":" (no)","sequence_number":5}

            event: response.output_text.done
            data: {"type":"response.output_text.done","item_id":"msg_1","text":"Grüß\ndich","sequence_number":6}

            event: response.completed
            data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":10,"cache_write_tokens":5},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":50}},"sequence_number":7}


            """#,
            Reading(
                text: "Grüß\ndich (no)", usage: TokenUsage(input: 15, cachedInput: 10, cacheWrite: 5, output: 8, reasoning: 12),
                verdict: .ended(.stop), reasoningBytes: 6)),
        Transcript(
            "incomplete by its token limit, still billed", OpenAIResponses.self,
            #"""
            event: response.output_text.delta
            data: {"type":"response.output_text.delta","delta":"so","sequence_number":1}

            event: response.incomplete
            data: {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":3,"output_tokens":1}},"sequence_number":2}


            """#, Reading(text: "so", usage: TokenUsage(input: 3, output: 1), verdict: .ended(.length))),
        Transcript(
            "incomplete by a content filter, still billed", OpenAIResponses.self,
            #"""
            event: response.output_text.delta
            data: {"type":"response.output_text.delta","delta":"so","sequence_number":1}

            event: response.incomplete
            data: {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"usage":{"input_tokens":3,"output_tokens":1}},"sequence_number":2}


            """#, Reading(text: "so", usage: TokenUsage(input: 3, output: 1), verdict: .ended(.filtered))),
        Transcript(
            "failed, with a code", OpenAIResponses.self,
            #"""
            event: response.failed
            data: {"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"secret"},"usage":{"input_tokens":3,"output_tokens":0}},"sequence_number":2}


            """#,
            Reading(usage: TokenUsage(input: 3, output: 0), verdict: .broken(.errorFrame, detail: "rate_limit_exceeded", about: .rateLimit))
        ),
        Transcript(
            "an error event", OpenAIResponses.self,
            #"""
            event: response.output_text.delta
            data: {"type":"response.output_text.delta","delta":"so","sequence_number":1}

            event: error
            data: {"type":"error","code":"server_error","message":"secret","param":null,"sequence_number":2}


            """#, Reading(text: "so", verdict: .broken(.errorFrame, detail: "server_error"))),
    ]
}
