import Benchmark
import EventStream
import GatewayAPI

/// The event stream and its JSON: what is read of a provider's chunk, what is written for a client.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .instructions], warmupIterations: 10, scalingFactor: .kilo, maxDuration: .seconds(1),
        thresholds: [.wallClock: .init(relative: [.p90: 100]), .instructions: .init(relative: [.p90: 5])])

    let frame = Array((Frame.head + "vielleicht " + Frame.tail).utf8)
    let data = Array(frame.dropFirst("data: ".utf8.count).dropLast(2))

    Benchmark("event-stream-data-lent") { benchmark in
        var parser = EventStreamParser()
        for _ in benchmark.scaledIterations {
            try frame.withUnsafeBytes { bytes in try parser.feedData(bytes) { blackHole($0.count) } }
        }
    }

    Benchmark("event-stream-event-copied") { benchmark in
        var parser = EventStreamParser()
        for _ in benchmark.scaledIterations {
            try frame.withUnsafeBytes { bytes in try parser.feed(bytes) { blackHole($0.data.count) } }
        }
    }

    Benchmark("token-event-encoded") { benchmark in
        var output: [UInt8] = []
        let token = Array("vielleicht ".utf8)
        for cursor in benchmark.scaledIterations {
            output.removeAll(keepingCapacity: true)
            token.withUnsafeBufferPointer { StreamEvent.appendToken($0, cursor: cursor, into: &output) }
            blackHole(output.count)
        }
    }

    Benchmark("json-chunk-skipped") { benchmark in
        for _ in benchmark.scaledIterations {
            var cursor = JSONCursor(data)
            try cursor.skipValue()
            blackHole(cursor.offset)
        }
    }
}

/// A chunk of OpenAI's around its text.
private enum Frame {
    static let head =
        #"data: {"id":"chatcmpl-BxYz0123456789abcdefghijklmnop","object":"chat.completion.chunk","created":1732112345,"#
        + #""model":"gpt-4.1-mini-2025-04-14","service_tier":"default","system_fingerprint":"fp_0123456789","#
        + #""choices":[{"index":0,"delta":{"content":""#
    static let tail = #""},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aXjk3"}"# + "\n\n"
}
