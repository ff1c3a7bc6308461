import Tracing

/// A tracer whose spans go to a `SpanExporter`. Contexts travel in the headers `traceparent` and `tracestate`.
public struct OTLPTracer: TraceContextTracer {
    private let exporter: SpanExporter
    private let sampledShare: Double

    /// - Parameter sampledShare: of the traces that begin here, 0 to 1; a caller's `traceparent` decides about its own.
    public init(exporter: SpanExporter, sampledShare: Double = 1) {
        self.exporter = exporter
        self.sampledShare = sampledShare
    }

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, at instant: @autoclosure () -> Instant,
        function: String, file fileID: String, line: UInt
    ) -> RecordedSpan {
        var context = context()
        let parent = context.trace
        let trace = parent?.child() ?? .root(isSampled: Double.random(in: 0..<1) < sampledShare)
        context.trace = trace
        let record = RecordedSpan.Record(
            name: operationName, kind: kind, trace: trace, parent: parent?.spanID, startedAt: instant().nanosecondsSinceEpoch)
        return RecordedSpan(record, context: context) { exporter.add($0) }
    }

    /// Spans are sent by the next `SpanExporter.flush`.
    public func forceFlush() {}
}
