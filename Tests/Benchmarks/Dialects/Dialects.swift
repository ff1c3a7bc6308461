import Benchmark
import ModelProviders

/// A provider's answer, read: OpenAI's frames, which are alike, and those of a server that counts in every frame, which are parsed.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .instructions], warmupIterations: 10, scalingFactor: .kilo, maxDuration: .seconds(1),
        thresholds: [.wallClock: .init(relative: [.p90: 100]), .instructions: .init(relative: [.p90: 5])])

    let head = #"data: {"id":"chatcmpl-BxYz0123456789","object":"chat.completion.chunk","created":1732112345,"model":"gpt-4.1-mini","#
    let words = ["Ja", ", ", "das ", "klingt ", "schwer", ". ", "Was ", "würde ", "dir ", "heute ", "helfen", #"?\n"#, #"\"Ruhe\" "#, "?"]

    func frames(_ tail: (Int) -> String) -> [[UInt8]] {
        words.indices.map { index in
            let choice = #""choices":[{"index":0,"delta":{"content":"\#(words[index])"},"logprobs":null,"finish_reason":null}],"#
            return Array((head + choice + tail(index) + "}\n\n").utf8)
        }
    }

    func read(_ benchmark: Benchmark, _ frames: [[UInt8]]) {
        var reader = Dialect.openAI.makeReader()
        var news = AnswerNews()
        for index in benchmark.scaledIterations {
            news.clear()
            frames[index % frames.count].withUnsafeBytes { reader.read($0, into: &news) }
            blackHole(news.text.count)
        }
    }

    let padded = frames { #""usage":null,"obfuscation":"\#("aXjk3KqPw0ZzTT".prefix($0))""# }
    Benchmark("openai-token-padded") { read($0, padded) }

    let counted = frames { #""usage":{"prompt_tokens":512,"total_tokens":\#(512 + $0),"completion_tokens":\#($0)}"# }
    Benchmark("openai-token-with-usage") { read($0, counted) }
}
