import Tracing

/// A tracer that records nothing and passes a caller's context on unchanged: what the caller and the providers record stays one trace (W3C Trace
/// Context §3.1).
public struct PassThroughTracer: TraceContextTracer {
    public init() {}

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> NoOpTracer.NoOpSpan {
        NoOpTracer.NoOpSpan(context: context())
    }

    public func forceFlush() {}
}
