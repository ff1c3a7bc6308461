import NIOCore

/// Encodes the parts of a response plan in the format of a dialect.
protocol ResponseEncoder: Sendable {
    var status: Int { get }
    var headers: [(name: String, value: String)] { get }
    func encode(_ content: ResponsePlan.FrameContent, into buffer: inout ByteBuffer)
}

/// A response plan with its encoder and its journal entry: everything that a connection needs to send the response.
struct ScriptedResponse: Sendable {
    var frames: [ResponsePlan.Frame]
    var encoder: any ResponseEncoder
    /// The most bytes of one write; nil: each frame is one write.
    var chunkBytes: Int?
    var exchange: Exchange
    /// The outcome to record when the response was sent completely.
    var outcome: Exchange.Outcome
}

extension ScriptedResponse {
    /// The dialect's error for an invalid request.
    static func rejected(_ response: FixedResponse, exchange: Exchange) -> Self {
        Self(frames: FixedResponse.frames(after: 0), encoder: response, chunkBytes: nil, exchange: exchange, outcome: .rejected)
    }

    /// The response with the HTTP error of a script.
    static func failed(_ response: FixedResponse, script: Script, exchange: Exchange) -> Self {
        Self(
            frames: FixedResponse.frames(after: script.firstTokenMs ?? 0), encoder: response, chunkBytes: script.writeLimit,
            exchange: exchange, outcome: .failed)
    }
}

/// A response whose body is known before it is sent, such as a dialect's error.
struct FixedResponse: ResponseEncoder {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    func encode(_ content: ResponsePlan.FrameContent, into buffer: inout ByteBuffer) { buffer.writeBytes(body) }

    /// The plan that sends it after a pause. The content of the part is irrelevant, because `encode` always writes `body`.
    static func frames(after pause: ResponsePlan.Milliseconds) -> [ResponsePlan.Frame] {
        [ResponsePlan.Frame(after: pause, steps: [.head, .send(.opening), .end])]
    }
}
