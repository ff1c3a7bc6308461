import ModelProviders

extension Workload {
    /// Reading a provider's answer: OpenAI's frames, which differ only in their text, and frames with a usage count each, which are fully
    /// parsed.
    static let dialects: [Workload] = [
        Workload("openai-token-padded", .thousand) {
            reading(frames { #""usage":null,"obfuscation":"\#("aXjk3KqPw0ZzTT".prefix($0))""# })
        },
        Workload("openai-token-with-usage", .thousand) {
            reading(frames { #""usage":{"prompt_tokens":512,"total_tokens":\#(512 + $0),"completion_tokens":\#($0)}"# })
        },
    ]

    /// The frames of an answer. They differ in their text and in `tail(number)`.
    private static func frames(_ tail: (Int) -> String) -> [[UInt8]] {
        let head = #"data: {"id":"chatcmpl-BxYz0123456789","object":"chat.completion.chunk","created":1732112345,"model":"gpt-4.1-mini","#
        let words = [
            "Ja", ", ", "das ", "klingt ", "schwer", ". ", "Was ", "würde ", "dir ", "heute ", "helfen", #"?\n"#, #"\"Ruhe\" "#, "?",
        ]
        return words.indices.map { index in
            let choice = #""choices":[{"index":0,"delta":{"content":"\#(words[index])"},"logprobs":null,"finish_reason":null}],"#
            return Array((head + choice + tail(index) + "}\n\n").utf8)
        }
    }

    private static func reading(_ frames: [[UInt8]]) -> Run {
        { count in
            // The name stands in the list of dialects.
            var reader = Dialect.named("openai")!.makeReader(for: "m")
            var update = ParsedUpdate()
            for index in 0..<count {
                update.clear()
                frames[index % frames.count].withUnsafeBytes { reader.read($0, into: &update) }
                blackHole(update.text.count)
            }
        }
    }
}
