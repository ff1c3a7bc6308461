import Synchronization
import Tracing

/// A span that is exported when it ends.
public final class RecordedSpan: Span {
    /// What is exported. Times in nanoseconds since 1970.
    struct Record: Sendable {
        var name: String
        var kind: SpanKind
        var trace: TraceContext
        var parent: UInt64?
        var startedAt: UInt64
        var endedAt: UInt64 = 0
        var attributes: SpanAttributes = [:]
        var events: [SpanEvent] = []
        var status: SpanStatus?
    }

    public let context: ServiceContext
    private let record: Mutex<Record?>
    private let export: @Sendable (Record) -> Void

    /// `export` is called once, by `end`.
    init(_ record: Record, context: ServiceContext, export: @escaping @Sendable (Record) -> Void) {
        self.context = context
        self.record = Mutex(record)
        self.export = export
    }

    public var isRecording: Bool { record.withLock { $0?.trace.isSampled ?? false } }

    public var operationName: String {
        get { record.withLock { $0?.name ?? "" } }
        set { update { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { record.withLock { $0?.attributes ?? [:] } }
        set { update { $0.attributes = newValue } }
    }

    public func setStatus(_ status: SpanStatus) { update { $0.status = status } }

    public func addEvent(_ event: SpanEvent) { update { $0.events.append(event) } }

    /// The type of the error alone: its text may hold content.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        update {
            $0.attributes["error.type"] = "\(type(of: error))"
            $0.status = SpanStatus(code: .error)
        }
    }

    /// Links are not exported.
    public func addLink(_ link: SpanLink) {}

    /// Exports the span; only the first call counts.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let ended = record.withLock { record in
            defer { record = nil }
            return record
        }
        guard var ended, ended.trace.isSampled else { return }
        ended.endedAt = max(ended.startedAt, instant().nanosecondsSinceEpoch)
        export(ended)
    }

    private func update(_ change: (inout Record) -> Void) {
        record.withLock { record in
            guard var changed = record else { return }
            change(&changed)
            record = changed
        }
    }
}
