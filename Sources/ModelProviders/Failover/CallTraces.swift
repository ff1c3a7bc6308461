import CoachCore

/// The traces of the requests of one model call, of which at most one is out.
struct CallTraces {
    private let tracing: RequestTracing?
    /// Whether the requests belong to a second call, which began because the first was late.
    var isHedge = false
    /// The trace of the request that is out.
    private var current: RequestTrace?
    /// The status of the response to that request; nil while there is no response.
    private var status: Int?

    init(_ tracing: RequestTracing?) { self.tracing = tracing }

    /// A request leaves.
    /// - Returns: the `traceparent` to send with it; nil: none is sent.
    mutating func begin(_ model: ModelName) -> String? {
        current = tracing?.begin(model, isHedge)
        return current?.traceparent
    }

    mutating func received(status: Int) { self.status = status }

    /// Ends the trace of the request that is out, if there is one.
    mutating func end(_ end: ModelEnd, usage: TokenUsage) {
        guard let trace = current else { return }
        trace.end(RequestResult(status: status, end: end, usage: usage))
        (current, status) = (nil, nil)
    }
}
