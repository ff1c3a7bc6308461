import EventStream
import GatewayAPI
import JSON

extension Workload {
    /// Event stream and JSON: reading a provider's chunk, writing an event for a client.
    static let codec: [Workload] = {
        let frame = Array((Frame.head + "vielleicht " + Frame.tail).utf8)
        let data = Array(frame.dropFirst("data: ".utf8.count).dropLast(2))

        return [
            Workload("event-stream-data-lent", .thousand) {
                { count in
                    var parser = EventStreamParser()
                    for _ in 0..<count {
                        try frame.withUnsafeBytes { bytes in try parser.feedData(bytes) { blackHole($0.count) } }
                    }
                }
            },
            Workload("event-stream-event-copied", .thousand) {
                { count in
                    var parser = EventStreamParser()
                    for _ in 0..<count {
                        try frame.withUnsafeBytes { bytes in try parser.feed(bytes) { blackHole($0.data.count) } }
                    }
                }
            },
            Workload("token-event-encoded", .thousand) {
                let token = Array("vielleicht ".utf8)
                return { count in
                    var output: [UInt8] = []
                    for cursor in 0..<count {
                        output.removeAll(keepingCapacity: true)
                        token.withUnsafeBufferPointer { StreamEvent.appendToken($0, cursor: cursor, into: &output) }
                        blackHole(output.count)
                    }
                }
            },
            Workload("json-chunk-skipped", .thousand) {
                { count in
                    for _ in 0..<count {
                        var cursor = JSONCursor(data)
                        try cursor.skipValue()
                        blackHole(cursor.offset)
                    }
                }
            },
        ]
    }()
}

/// An OpenAI chunk: the JSON before and after its text.
private enum Frame {
    static let head =
        #"data: {"id":"chatcmpl-BxYz0123456789abcdefghijklmnop","object":"chat.completion.chunk","created":1732112345,"#
        + #""model":"gpt-4.1-mini-2025-04-14","service_tier":"default","system_fingerprint":"fp_0123456789","#
        + #""choices":[{"index":0,"delta":{"content":""#
    static let tail = #""},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aXjk3"}"# + "\n\n"
}
