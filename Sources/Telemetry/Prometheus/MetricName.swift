/// Converts labels of the metrics API to Prometheus names: characters that are not allowed, such as dots, become underscores; counters
/// end in `_total`, durations in `_seconds` (prometheus.io/docs/practices/naming).
enum MetricName {
    static func family(_ label: String, kind: MetricKind) -> String {
        let name = sanitized(label, allowColon: true)
        return kind.suffix.isEmpty || name.hasSuffix(kind.suffix) ? name : name + kind.suffix
    }

    /// Renders the dimensions as the text between the braces, sorted by name. Of equal names the last one applies. Called once per metric.
    static func labels(_ dimensions: [(String, String)], isHistogram: Bool) -> String {
        guard !dimensions.isEmpty else { return "" }
        var values: [String: String] = [:]
        for (name, value) in dimensions {
            let name = sanitized(name, allowColon: false)
            // `le` is reserved for the buckets of a histogram.
            values[isHistogram && name == "le" ? "exported_le" : name] = value
        }
        return values.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
    }

    /// Escapes backslash, line feed and, in label values, quotes (text format 0.0.4).
    static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func sanitized(_ name: String, allowColon: Bool) -> String {
        var clean = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "_": clean.unicodeScalars.append(scalar)
            case "0"..."9":
                if clean.isEmpty { clean = "_" }
                clean.unicodeScalars.append(scalar)
            case ":" where allowColon: clean.unicodeScalars.append(scalar)
            default: clean += "_"
            }
        }
        return clean.isEmpty ? "_" : clean
    }
}

/// The Prometheus type of a metric family.
enum MetricKind: String, Sendable {
    case counter, gauge, histogram
    /// A histogram of durations in seconds.
    case timer

    var suffix: String {
        switch self {
        case .counter: "_total"
        case .timer: "_seconds"
        case .gauge, .histogram: ""
        }
    }

    var type: String { self == .timer ? "histogram" : rawValue }
}
