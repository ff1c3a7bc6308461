/// The families and their series; a value behind the factory's lock.
struct PrometheusRegistry {
    struct Family {
        let kind: MetricKind
        let help: String?
        /// By rendered labels.
        var series: [String: Series] = [:]

        /// One more handle for the metric with these labels, which is made when there is none of this type.
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
        /// Handles that were made for it.
        var handles: Int
    }

    private(set) var families: [String: Family] = [:]
    /// Where each metric is, for its destruction.
    private var places: [ObjectIdentifier: (family: String, labels: String)] = [:]
    private let labelSetsPerFamily: Int

    /// The labels under which everything beyond the limit is counted.
    private static let overflow = #"overflow="true""#
    /// Counts the metrics whose name another kind of metric had first: they work, but are not shown.
    private static let conflicts = "telemetry_conflicting_metrics_total"

    init(labelSetsPerFamily: Int) { self.labelSetsPerFamily = labelSetsPerFamily }

    mutating func metric<Metric: PrometheusMetric>(
        family name: String, kind: MetricKind, help: String?, labels: String, make: () -> Metric
    ) -> Metric {
        if let family = families[name], family.kind != kind {
            noteConflict()
            return make()
        }
        // In place: a family that is taken out and put back is copied with all its series.
        let isFull = families[name].map { $0.series.count >= labelSetsPerFamily && $0.series[labels] == nil } ?? false
        let labels = isFull ? Self.overflow : labels
        let (metric, isNew) = families[name, default: Family(kind: kind, help: help)].take(labels, make: make)
        if isNew { places[ObjectIdentifier(metric)] = (name, labels) }
        return metric
    }

    mutating func release(_ handler: AnyObject) {
        let id = ObjectIdentifier(handler)
        guard let place = places[id], let series = families[place.family]?.series[place.labels] else { return }
        if series.handles > 1 {
            families[place.family]?.series[place.labels]?.handles -= 1
        } else {
            families[place.family]?.series[place.labels] = nil
            places[id] = nil
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
