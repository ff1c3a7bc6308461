/// Port that records the requests of a model call, each by itself. Its closures are called on the thread of the updates and must not block.
public struct RequestTracing: Sendable {
    /// A request to this model leaves. `isHedge`: it is of a second call, because the first one is late.
    public var begin: @Sendable (_ model: ModelName, _ isHedge: Bool) -> RequestTrace

    public init(begin: @escaping @Sendable (_ model: ModelName, _ isHedge: Bool) -> RequestTrace) { self.begin = begin }
}

/// The record of a request that has left.
public struct RequestTrace: Sendable {
    /// The header of W3C Trace Context that is sent with it; nil when there is no trace. `tracestate` is never sent: it has what the client's vendors
    /// of tracing have written, which providers must not learn ("Privacy of tracestate field").
    public var traceparent: String?
    /// Called once.
    public var end: @Sendable (RequestResult) -> Void

    public init(traceparent: String?, end: @escaping @Sendable (RequestResult) -> Void) {
        self.traceparent = traceparent
        self.end = end
    }
}

/// What became of a request.
public struct RequestResult: Sendable, Equatable {
    /// Of the HTTP response; nil when none has come.
    public var status: Int?
    public var end: ModelEnd
    /// As reported by the provider.
    public var usage: TokenUsage

    public init(status: Int?, end: ModelEnd, usage: TokenUsage = TokenUsage()) {
        self.status = status
        self.end = end
        self.usage = usage
    }
}
