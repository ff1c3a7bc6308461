import Tracing

/// A tracer that records nothing and passes a caller's `traceparent` and `tracestate` on unchanged: what the caller and the providers record stays one
/// trace (W3C Trace Context §3.1).
public struct PassThroughTracer: Tracer {
    public init() {}

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> NoOpTracer.NoOpSpan {
        NoOpTracer.NoOpSpan(context: context())
    }

    public func forceFlush() {}

    public func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier {
        context.extractTrace(from: carrier, using: extractor)
    }

    public func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject.Carrier == Carrier {
        context.injectTrace(into: &carrier, using: injector)
    }
}
