import CoachCore
import TestSupport
import Testing

@testable import ModelProviders

/// A stream made of these frames.
func stream(_ frames: String..., done: Bool = true) -> String {
    (frames + (done ? ["[DONE]"] : [])).map { "data: \($0)\n\n" }.joined()
}

func chunk(_ content: String, finish: String? = nil) -> String {
    """
    {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"\(content)"},"finish_reason":\(finish.map { "\"\($0)\"" } ?? "null")}],"usage":null}
    """
}

@Suite("OpenAIFrames")
struct OpenAIAnswerTests {
    @Test("random bytes never crash it", arguments: 0..<200)
    func random(_ seed: Int) {
        var random = SeededGenerator(state: UInt64(seed))
        let words = [
            "data: ", "\n", "\n\n", "{", "}", "\"choices\":", "[", "]", "\"delta\":{\"content\":\"", "\\ud83d", "\"", ",", "[DONE]", "é",
            "\u{0}", ":", "1e9",
        ]
        var bytes = Array("data: {\"choices\":[{\"delta\":{\"content\":\"".utf8)
        for _ in 0..<100 {
            if random.next() % 4 == 0 {
                bytes.append(UInt8(random.next() % 256))
            } else {
                bytes += Array(words.randomElement(using: &random)!.utf8)
            }
        }
        #expect(Reading.of([bytes[...]]).verdict != nil)
    }

    @Test(
        "finish reasons map to ends",
        arguments: [
            ("stop", ModelEnd.stop), ("length", .length), ("max_tokens", .length), ("content_filter", .filtered), ("tool_calls", .stop),
            ("eos", .stop), ("sensitive", .filtered), ("another_reason", .unknown),
        ])
    func finishReasons(_ reason: String, _ end: ModelEnd) {
        #expect(Reading.of(stream(chunk("a", finish: reason))).verdict == .ended(end))
    }

    @Test("a missing end mark is forgiven when a finish reason was seen")
    func missingDone() {
        #expect(Reading.of(stream(chunk("a", finish: "length"), done: false)).verdict == .ended(.length))
    }

    @Test("a stream without either was cut")
    func cut() {
        #expect(
            Reading.of(stream(chunk("a"), done: false)) == Reading(text: "a", verdict: .broken(.cut, detail: "ended without its end mark")))
        #expect(Reading.of("").verdict == .broken(.cut, detail: "ended without its end mark"))
    }

    @Test("a page or an array in place of a stream is an error")
    func noStream() {
        for body in ["<html>no</html>", "<html>\n<body>\n\n</body>\n</html>\n", #"[{"error":{"code":429}}]"#, "Bad gateway\n"] {
            #expect(Reading.of(body).verdict == .broken(.errorFrame, detail: "not an event stream"), "\(body)")
        }
        #expect(Reading.of("note\n" + stream(chunk("a"), done: false)).verdict == .cut)
    }

    @Test("a last frame without its blank line counts when it is whole, and is a cut when it is not")
    func lastFrame() {
        let frame = "data: \(chunk("b", finish: "stop"))"
        #expect(Reading.of(stream(chunk("a"), done: false) + frame) == Reading(text: "ab", verdict: .ended(.stop)))
        #expect(
            Reading.of(stream(chunk("a"), done: false) + frame.dropLast(3))
                == Reading(text: "a", verdict: .broken(.cut, detail: "ended without its end mark")))
        let finish = #"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#
        #expect(Reading.of(stream(chunk("a"), finish, done: false) + "data: [DONE]").verdict == .ended(.stop))
    }

    @Test("[DONE] without a finish reason is no end: what came before was cut")
    func doneAlone() {
        let cut = ParsedUpdate.Verdict.broken(.cut, detail: "ended without its end mark")
        #expect(Reading.of(stream(chunk("a"))) == Reading(text: "a", verdict: cut))
        #expect(Reading.of(stream()) == Reading(text: "", verdict: cut))
        #expect(Reading.of(stream(chunk("a", finish: "stop"))) == Reading(text: "a", verdict: .ended(.stop)))
    }

    @Test("an error frame is an error, though [DONE] follows")
    func errorFrame() {
        let error = #"{"error":{"message":"secret prompt","type":"server_error","code":null}}"#
        #expect(Reading.of(stream(chunk("a"), error)) == Reading(text: "a", verdict: .broken(.errorFrame, detail: "server_error")))
        #expect(Reading.of(stream(error)).verdict == .broken(.errorFrame, detail: "server_error"))
        #expect(Reading.of(stream(#"{"error":"overloaded"}"#)).verdict == .broken(.errorFrame, detail: "error"))
        #expect(Reading.of(stream(#"{"error":{"code":503,"message":"x"}}"#)).verdict == .broken(.errorFrame, detail: "503"))
        #expect(Reading.of(stream(#"{"error":{"code":"my secret words","type":"t"}}"#)).verdict == .broken(.errorFrame, detail: "t"))
    }

    @Test("an error frame about moderation is about the request, and one about the key or the model is not")
    func errorFrameKinds() {
        func kind(_ error: String) -> ProviderError.Kind? {
            let reading = Reading.of(stream("{\"error\":\(error)}", done: false), Dialect(OpenAICompatible.self))
            guard case .broken(.errorFrame, _, let kind)? = reading.verdict else { return nil }
            return kind
        }
        #expect(kind(#"{"code":"content_filter","message":"x"}"#) == .moderation)
        #expect(kind(#"{"code":403,"message":"x","metadata":{"reasons":["violence"],"flagged_input":"x"}}"#) == .moderation)
        #expect(kind(#"{"code":403,"message":"x","metadata":{"provider_name":"X"}}"#) == .access)
        #expect(kind(#"{"code":404,"message":"x"}"#) == .model)
        #expect(kind(#"{"code":502,"message":"x"}"#) == .other)
    }

    @Test("an error that is null is none")
    func nullError() {
        #expect(Reading.of(stream(#"{"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}"#)).text == "a")
    }

    @Test("a frame that is not JSON is an error, because it may have held text")
    func malformed() {
        #expect(
            Reading.of(stream(chunk("a"), #"{"choices":[{"delta":{"content":"b"}"#))
                == Reading(text: "a", verdict: .broken(.errorFrame, detail: "malformed frame")))
    }

    @Test("an error that stands bare in the stream, on one line or on several, is an error")
    func bareError() {
        let verdict = ParsedUpdate.Verdict.broken(.errorFrame, detail: "overloaded")
        #expect(
            Reading.of(stream(chunk("a"), done: false) + #"{"error":{"code":"overloaded"}}"# + "\n\n")
                == Reading(text: "a", verdict: verdict))
        #expect(Reading.of("{\n  \"error\": {\n    \"code\": \"overloaded\"\n  }\n}").verdict == verdict)
        #expect(Reading.of(#"{"error":"model runner has stopped"}"#).verdict == .broken(.errorFrame, detail: "error"))
        #expect(Reading.of(#"{"error":{"code":"overloaded"}}"# + "\n\ndata: [DONE]\n\n").verdict == verdict)
        #expect(Reading.of(#"{"object":"chat.completion"}"#).verdict == .cut)
    }

    @Test("a reason that says the provider failed is an error", arguments: ["error", "abort", "insufficient_system_resource"])
    func failureReasons(_ reason: String) {
        #expect(Reading.of(stream(chunk("a", finish: reason))).verdict == .broken(.errorFrame, detail: reason))
        #expect(Reading.of(stream(chunk("a", finish: reason), done: false)).verdict == .broken(.errorFrame, detail: reason))
    }

    @Test("data that is no object, comments and named events are passed over")
    func noise() {
        let noise = ": ping\n\nevent: ping\ndata:\n\ndata: keep-alive\n\n"
        #expect(Reading.of(noise + stream(chunk("a", finish: "stop"))) == Reading(text: "a", verdict: .ended(.stop)))
    }

    @Test("white space before a frame's object is none of it")
    func whiteSpace() {
        for space in ["\t", " \t ", "\ndata: ", "\r\ndata:\t"] {
            #expect(Reading.of("data:\(space)\(chunk("a", finish: "stop"))\n\n") == Reading(text: "a", verdict: .ended(.stop)), "\(space)")
        }
    }

    @Test("a frame beyond the bound is an error, not memory")
    func longFrame() {
        let long = "data: {\"x\":\"" + String(repeating: "y", count: 300_000)
        #expect(Reading.of(long).verdict == .broken(.errorFrame, detail: "frame too long"))
    }

    @Test("a refusal is text")
    func refusal() {
        #expect(Reading.of(stream(#"{"choices":[{"index":0,"delta":{"refusal":"I can't."},"finish_reason":"stop"}]}"#)).text == "I can't.")
    }

    @Test("reasoning is not text")
    func reasoning() {
        let frame = #"{"choices":[{"index":0,"delta":{"reasoning_content":"hm","reasoning":"hm","content":null,"tool_calls":[]}}]}"#
        #expect(Reading.of(stream(frame, chunk("a"))).text == "a")
    }

    @Test("only the first choice speaks, wherever its index stands")
    func otherChoices() {
        let frame =
            #"{"choices":[{"delta":{"content":"no"},"finish_reason":"length","index":1},{"delta":{"content":"yes"},"finish_reason":"stop","index":0}]}"#
        #expect(Reading.of(stream(frame)) == Reading(text: "yes", verdict: .ended(.stop)))
    }

    @Test("U+0000 is dropped, lone surrogates and broken UTF-8 become U+FFFD")
    func repair() {
        #expect(Reading.of(stream(chunk(#"a\u0000b\u0000"#))).text == "ab")
        #expect(Reading.of(stream(chunk(#"\ud83d\ude00 \ud83d"#))).text == "😀 \u{FFFD}")
        let broken =
            Array("data: {\"choices\":[{\"delta\":{\"content\":\"a".utf8) + [0xE2, 0x82] + Array("\"}}]}\n\ndata: [DONE]\n\n".utf8)
        #expect(Reading.of([broken[...]]).text == "a\u{FFFD}")
    }

    @Test("usage is told in disjoint classes; what is not reported is unknown")
    func usage() {
        func usage(_ json: String) -> TokenUsage? { Reading.of(stream("{\"choices\":[],\"usage\":\(json)}")).usage }
        #expect(
            usage(
                #"{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":20,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":10}}"#
            )
                == TokenUsage(input: 50, cachedInput: 30, cacheWrite: 20, output: 40, reasoning: 10))
        #expect(usage(#"{"prompt_tokens":7,"completion_tokens":3}"#) == TokenUsage(input: 7, output: 3))
        #expect(usage(#"{"prompt_tokens":7}"#) == TokenUsage(input: 7))
        #expect(
            usage(#"{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":null,"completion_tokens_details":{}}"#)
                == TokenUsage(input: 7, output: 3))
        #expect(
            usage(
                #"{"prompt_tokens":5,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":9},"completion_tokens_details":{"reasoning_tokens":9}}"#
            )
                == TokenUsage(input: 0, cachedInput: 5, output: 0, reasoning: 3))
        #expect(usage(#"{"prompt_tokens":-7,"completion_tokens":1.5}"#) == TokenUsage())
        #expect(usage(#"{"prompt_tokens":1e300,"completion_tokens":"many"}"#) == TokenUsage())
        #expect(usage("null") == nil)
        #expect(usage("12") == nil)
    }

    @Test("text after the finish reason is text, and the reason stays")
    func textAfterFinish() {
        let reading = Reading.of(stream(chunk("a", finish: "length"), chunk("b"), done: false))
        #expect(reading == Reading(text: "ab", verdict: .ended(.length)))
    }

    @Test("reasoning that is counted apart from the completion, or only within the total, is output all the same")
    func reasoningApart() {
        func usage(
            prompt: Int = 100, total: Int, _ details: String = #","completion_tokens_details":{"reasoning_tokens":15}"#
        ) -> TokenUsage? {
            Reading.of(
                stream(
                    #"{"choices":[],"usage":{"prompt_tokens":\#(prompt),"completion_tokens":20,"total_tokens":\#(total)\#(details)}}"#)
            ).usage
        }
        #expect(usage(total: 135) == TokenUsage(input: 100, output: 20, reasoning: 15))
        #expect(usage(total: 120) == TokenUsage(input: 100, output: 5, reasoning: 15))
        #expect(usage(total: 130) == TokenUsage(input: 100, output: 5, reasoning: 15), "the total is of other tokens, too")
        #expect(usage(total: 420, "") == TokenUsage(input: 100, output: 320), "it has the price of output, as it is not reported apart")
        #expect(usage(total: 120, "") == TokenUsage(input: 100, output: 20))
        #expect(usage(total: 0, "") == TokenUsage(input: 100, output: 20))
        #expect(usage(prompt: 0, total: 420, "") == TokenUsage(input: 0, output: 20), "the prompt was not counted")
    }

    @Test("cached tokens that only the total counts are billed as such, and not taken for reasoning")
    func cachedApart() {
        func usage(_ cached: String) -> TokenUsage? {
            Reading.of(
                stream(#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":420,\#(cached)}}"#)
            ).usage
        }
        #expect(
            usage(#""cache_read_input_tokens":290,"cache_creation_input_tokens":10,"prompt_tokens_details":{"cached_tokens":290}"#)
                == TokenUsage(input: 100, cachedInput: 290, cacheWrite: 10, output: 20))
        #expect(
            usage(#""prompt_tokens_details":{"cached_tokens":300}"#) == TokenUsage(input: 0, cachedInput: 100, output: 20),
            "no more of it than there is prompt")
        #expect(
            usage(#""prompt_tokens_details":{"cached_tokens":50}"#) == TokenUsage(input: 50, cachedInput: 50, output: 320),
            "Gemini counts cached tokens within the prompt")
    }

    @Test("what is written to the cache is a class of its own, by each name that it has")
    func cacheWrites() {
        func usage(_ written: String) -> TokenUsage? {
            Reading.of(stream(#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,\#(written)}}"#)).usage
        }
        let expected = TokenUsage(input: 60, cachedInput: 30, cacheWrite: 10, output: 20)
        #expect(usage(#""prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":10}"#) == expected)
        #expect(usage(#""prompt_tokens_details":{"cached_tokens":30,"cache_creation_tokens":10}"#) == expected)
        let both = #""cache_read_input_tokens":30,"cache_creation_input_tokens":10"#
        #expect(usage(#""prompt_tokens_details":{"cached_tokens":30},\#(both)"#) == expected, "the total is that of the prompt")
        #expect(usage(#""cache_creation_input_tokens":101"#) == TokenUsage(input: 100, output: 20), "more than the prompt")
    }

    @Test("a later report corrects the counts that it has, within one prompt")
    func correction() {
        let reading = Reading.of(
            stream(
                #"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}}"#,
                #"{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":0}}}"#,
                #"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":null}}"#))
        #expect(reading.usage == TokenUsage(input: 8, cachedInput: 0, output: 6))
    }

    @Test("a later report without a count, or with an output of 0, changes nothing of it")
    func usageIsNotTakenBack() {
        let reading = Reading.of(
            stream(
                #"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}}"#,
                #"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}"#))
        #expect(reading.usage == TokenUsage(input: 5, cachedInput: 4, output: 7))
    }

    @Test("cumulative usage on every chunk: the last one counts")
    func cumulativeUsage() {
        func frame(_ n: Int) -> String {
            #"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":\#(n)}}"#
        }
        let reading = Reading.of(stream(frame(1), frame(2), frame(3), #"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#))
        #expect(reading == Reading(text: "xxx", usage: TokenUsage(input: 9, output: 3), verdict: .ended(.stop)))
    }
}
