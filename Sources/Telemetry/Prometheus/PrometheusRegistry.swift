/// The families and their series; a value behind the factory's lock.
struct PrometheusRegistry {
    struct Family {
        let kind: MetricKind
        let help: String?
        /// By rendered labels.
        var series: [String: Series] = [:]
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
        var family = families[name] ?? Family(kind: kind, help: help)
        guard family.kind == kind else {
            noteConflict()
            return make()
        }
        let isFull = family.series.count >= labelSetsPerFamily && family.series[labels] == nil
        let labels = isFull ? Self.overflow : labels
        if let existing = family.series[labels]?.metric as? Metric {
            family.series[labels]?.handles += 1
            families[name] = family
            return existing
        }
        let metric = make()
        family.series[labels] = Series(metric: metric, handles: 1)
        families[name] = family
        places[ObjectIdentifier(metric)] = (name, labels)
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
