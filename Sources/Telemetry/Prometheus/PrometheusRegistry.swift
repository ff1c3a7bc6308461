/// All metric families and their series. Protected by the lock of `PrometheusMetricsFactory`.
struct PrometheusRegistry {
    struct Family {
        let kind: MetricKind
        let help: String?
        /// The series by rendered labels.
        var series: [String: Series] = [:]

        /// Adds a handle to the metric with these labels. Creates the metric if there is none of this type.
        fileprivate mutating func take<Metric: PrometheusMetric>(_ labels: String, make: () -> Metric) -> (metric: Metric, isNew: Bool) {
            if let existing = series[labels]?.metric as? Metric {
                series[labels]?.handles += 1
                return (existing, false)
            }
            let metric = make()
            series[labels] = Series(metric: metric, handles: 1)
            return (metric, true)
        }
    }

    struct Series {
        let metric: any PrometheusMetric
        /// The number of handles that exist for the metric.
        var handles: Int
    }

    private(set) var families: [String: Family] = [:]
    /// The family and labels of each metric, to find it when a handle is destroyed.
    private var seriesKeys: [ObjectIdentifier: (family: String, labels: String)] = [:]
    private let labelSetsPerFamily: Int

    /// The labels of the series that counts everything beyond the limit of label sets.
    private static let overflow = #"overflow="true""#
    /// The counter of metrics whose name another kind of metric already has. Their handles work, but they are not rendered.
    private static let conflicts = "telemetry_conflicting_metrics_total"

    init(labelSetsPerFamily: Int) { self.labelSetsPerFamily = labelSetsPerFamily }

    mutating func metric<Metric: PrometheusMetric>(
        family name: String, kind: MetricKind, help: String?, labels: String, make: () -> Metric
    ) -> Metric {
        if let family = families[name], family.kind != kind {
            noteConflict()
            return make()
        }
        // Mutated in place: removing and reinserting a family would copy all its series.
        let isFull = families[name].map { $0.series.count >= labelSetsPerFamily && $0.series[labels] == nil } ?? false
        let labels = isFull ? Self.overflow : labels
        let (metric, isNew) = families[name, default: Family(kind: kind, help: help)].take(labels, make: make)
        if isNew { seriesKeys[ObjectIdentifier(metric)] = (name, labels) }
        return metric
    }

    mutating func release(_ handler: AnyObject) {
        let id = ObjectIdentifier(handler)
        guard let key = seriesKeys[id], let series = families[key.family]?.series[key.labels] else { return }
        if series.handles > 1 {
            families[key.family]?.series[key.labels]?.handles -= 1
        } else {
            families[key.family]?.series[key.labels] = nil
            seriesKeys[id] = nil
        }
    }

    private mutating func noteConflict() {
        let counter = metric(
            family: Self.conflicts, kind: .counter, help: "Metrics that are not shown because another kind of metric had their name first.",
            labels: ""
        ) { PrometheusCounter() }
        counter.increment(by: Int64(1))
    }
}
