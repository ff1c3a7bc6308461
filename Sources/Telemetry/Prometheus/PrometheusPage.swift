/// Builds the response to a scrape, family by family.
struct PrometheusPage {
    let format: PrometheusFormat
    private(set) var bytes: [UInt8] = []

    init(format: PrometheusFormat) { self.format = format }

    mutating func begin(family: String, kind: MetricKind, help: String?) {
        // In OpenMetrics the family of a counter has no `_total`, only its samples have.
        let isShort = format == .openMetrics && kind == .counter && family.hasSuffix("_total")
        let name = isShort ? String(family.dropLast("_total".count)) : family
        if let help { line("# HELP \(name) \(MetricName.escaped(help, quotes: format == .openMetrics))") }
        line("# TYPE \(name) \(kind.type)")
        if format == .openMetrics, kind == .timer { line("# UNIT \(name) seconds") }
    }

    mutating func sample(_ name: String, labels: String, value: String) {
        bytes += name.utf8
        if !labels.isEmpty {
            bytes.append(UInt8(ascii: "{"))
            bytes += labels.utf8
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: " "))
        line(value)
    }

    mutating func end() {
        if format == .openMetrics { line("# EOF") }
    }

    private mutating func line(_ text: String) {
        bytes += text.utf8
        bytes.append(UInt8(ascii: "\n"))
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        return value.isInfinite ? (value < 0 ? "-Inf" : "+Inf") : "\(value)"
    }
}
