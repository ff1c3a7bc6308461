/// The exposition formats that Prometheus reads.
public enum PrometheusFormat: Sendable, Equatable {
    /// Text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
    case text
    /// OpenMetrics 1.0 (github.com/prometheus/OpenMetrics).
    case openMetrics

    /// The value of the `Content-Type` header.
    public var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The format that an `Accept` header prefers (RFC 9110 §12.5.1); text without a header.
    public init(accept: String?) {
        var best: (quality: Double, format: PrometheusFormat) = (0, .text)
        for range in (accept ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.trimmingBlanks.lowercased() }
            let parameters = parts.dropFirst()
            let quality = parameters.first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let version = parameters.first { $0.hasPrefix("version=") }?.dropFirst("version=".count)
            let format: PrometheusFormat
            switch parts.first {
            case "application/openmetrics-text" where version == nil || version == "1.0.0": format = .openMetrics
            case "text/plain" where version == nil || version == "0.0.4", "text/*", "*/*": format = .text
            default: continue
            }
            if quality > best.quality { best = (quality, format) }
        }
        self = best.format
    }
}

extension Substring {
    fileprivate var trimmingBlanks: Substring {
        var trimmed = drop { $0 == " " || $0 == "\t" }
        while let last = trimmed.last, last == " " || last == "\t" { trimmed.removeLast() }
        return trimmed
    }
}
