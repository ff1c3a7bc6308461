import CoreMetrics
import Synchronization
import Tracing

/// Sends ended spans to an OpenTelemetry collector, in batches. Spans wait in a bounded queue: when the collector is slow or away they are
/// dropped and counted (`coach_spans_dropped`), and nothing ever waits for it.
public final class SpanExporter: Sendable {
    /// Returns whether the collector accepted an `ExportTraceServiceRequest` in JSON.
    public typealias Send = @Sendable (_ body: [UInt8]) async -> Bool

    private static let capacity = 4096
    private static let batch = 512

    private let queue = Mutex<[RecordedSpan.Record]>([])
    private let resource: SpanAttributes
    private let send: Send
    private let dropped = Counter(label: "coach_spans_dropped")

    /// `serviceName`: the resource attribute `service.name`.
    public init(serviceName: String, send: @escaping Send) {
        resource = ["service.name": SpanAttribute.string(serviceName)]
        self.send = send
    }

    /// Spans that are not sent yet.
    var waiting: Int { queue.withLock(\.count) }

    func add(_ span: RecordedSpan.Record) {
        let isAdded = queue.withLock { queue in
            guard queue.count < Self.capacity else { return false }
            queue.append(span)
            return true
        }
        if !isAdded { dropped.increment() }
    }

    /// Sends the spans that wait, up to the first batch that is not accepted, also in a cancelled task. To be called periodically, and before
    /// the process ends.
    public func flush() async {
        while await sendBatch() {}
    }

    /// Returns whether more is to be sent at once. A batch that is not accepted is dropped: the next spans may be, and memory is bounded.
    private func sendBatch() async -> Bool {
        let spans = queue.withLock { queue in
            let spans = Array(queue.prefix(Self.batch))
            queue.removeFirst(spans.count)
            return spans
        }
        guard !spans.isEmpty else { return false }
        let body = OTLPEncoding.request(spans, resource: resource)
        // Not a child: a cancelled task could send nothing.
        let isAccepted = await Task { [send] in await send(body) }.value
        if !isAccepted { dropped.increment(by: spans.count) }
        return isAccepted && spans.count == Self.batch
    }
}
