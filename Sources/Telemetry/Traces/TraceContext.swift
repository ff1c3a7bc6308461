import JSON
import Tracing

/// The position of a span in its trace, as W3C Trace Context (level 1) passes it between services in the header `traceparent`.
struct TraceContext: Hashable, Sendable {
    struct TraceID: Hashable, Sendable {
        var high: UInt64
        var low: UInt64

        /// 32 hexadecimal digits in lower case.
        var text: String { Hexadecimal.encode(high) + Hexadecimal.encode(low) }
    }

    var traceID: TraceID
    /// Never 0.
    var spanID: UInt64
    /// Whether the spans of the trace are recorded.
    var isSampled: Bool
    /// The header `tracestate`, which is passed on unchanged.
    var state: String?

    /// Longest `tracestate` that is passed on (§3.3.1.5 asks for at least 512 characters).
    private static let longestState = 512

    /// nil for what the standard tells receivers to ignore: malformed text, version ff, ids of zeros only.
    init?(traceparent: String, state: String? = nil) {
        let fields = traceparent.split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count >= 4, fields[0].utf8.count == 2, let version = Self.number(fields[0]), version != 0xFF,
            version > 0 || fields.count == 4, fields[1].utf8.count == 32, let high = Self.number(fields[1].prefix(16)),
            let low = Self.number(fields[1].suffix(16)), fields[2].utf8.count == 16, let span = Self.number(fields[2]),
            fields[3].utf8.count == 2, let flags = Self.number(fields[3]), high != 0 || low != 0, span != 0
        else { return nil }
        self.init(traceID: TraceID(high: high, low: low), spanID: span, isSampled: flags & 1 == 1)
        if let state, state.utf8.count <= Self.longestState { self.state = state }
    }

    /// A number of the header: lower case only. The caller has checked the length.
    private static func number(_ digits: Substring) -> UInt64? {
        guard digits.unicodeScalars.allSatisfy({ ("0"..."9").contains($0) || ("a"..."f").contains($0) }) else { return nil }
        return UInt64(digits, radix: 16)
    }

    init(traceID: TraceID, spanID: UInt64, isSampled: Bool, state: String? = nil) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
        self.state = state
    }

    /// A child of this span.
    func child() -> TraceContext { TraceContext(traceID: traceID, spanID: Self.randomID(), isSampled: isSampled, state: state) }

    static func root(isSampled: Bool) -> TraceContext {
        TraceContext(
            traceID: TraceID(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max)), spanID: randomID(), isSampled: isSampled)
    }

    private static func randomID() -> UInt64 { .random(in: 1 ... .max) }

    var traceparent: String { "00-\(traceID.text)-\(Hexadecimal.encode(spanID))-\(isSampled ? "01" : "00")" }
}

extension ServiceContext {
    private enum Key: ServiceContextKey {
        typealias Value = TraceContext
        static let nameOverride: String? = "traceparent"
    }

    var trace: TraceContext? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}

/// A tracer whose contexts travel in the headers `traceparent` and `tracestate`.
public protocol TraceContextTracer: Tracer {}

extension TraceContextTracer {
    public func extract<Carrier, Extract: Extractor>(_ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract)
    where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        context.trace = TraceContext(traceparent: parent, state: extractor.extract(key: "tracestate", from: carrier))
    }

    public func inject<Carrier, Inject: Injector>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
        if let state = trace.state { injector.inject(state, forKey: "tracestate", into: &carrier) }
    }
}
