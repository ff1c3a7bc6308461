import CoreMetrics
import Synchronization

/// A value, or values, with one set of labels.
protocol PrometheusMetric: AnyObject, Sendable {
    /// Appends its samples. `family` is the name samples have, `labels` what stands between the braces.
    func render(family: String, labels: String, into page: inout PrometheusPage)
}

/// A count that only grows: whole steps in an integer, broken ones beside it, so neither loses precision to the other.
final class PrometheusCounter: PrometheusMetric, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let broken = AtomicDouble()

    /// Negative amounts are ignored: a counter that falls reads as a restart.
    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        broken.add(amount)
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        broken.store(0)
    }

    func render(family: String, labels: String, into page: inout PrometheusPage) {
        let whole = whole.load(ordering: .relaxed)
        let broken = broken.value
        page.sample(family, labels: labels, value: broken == 0 ? "\(whole)" : PrometheusPage.number(Double(whole) + broken))
    }
}

/// A value that goes up and down; also a recorder that keeps only its last value.
final class PrometheusGauge: PrometheusMetric, MeterHandler, RecorderHandler {
    private let current = AtomicDouble()

    func set(_ value: Int64) { current.store(Double(value)) }
    func set(_ value: Double) { current.store(value) }
    func increment(by amount: Double) { current.add(amount) }
    func decrement(by amount: Double) { current.add(-amount) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }

    func render(family: String, labels: String, into page: inout PrometheusPage) {
        page.sample(family, labels: labels, value: PrometheusPage.number(current.value))
    }
}

/// Counts of values by size. A recording touches one bucket and the sum; what Prometheus wants cumulated is added up when it is read.
final class PrometheusHistogram: PrometheusMetric, RecorderHandler, TimerHandler {
    private let bounds: [Double]
    /// One more than the bounds: the last is for what exceeds them all.
    private let counts: [Bucket]
    private let sum = AtomicDouble()

    /// - Parameter bounds: upper bounds, inclusive, ascending.
    init(bounds: [Double]) {
        self.bounds = bounds
        counts = (0...bounds.count).map { _ in Bucket() }
    }

    /// An object, because an array cannot hold atomics.
    private final class Bucket: Sendable {
        let count = Atomic<Int>(0)
    }

    /// NaN is ignored: it would make the sum useless for ever.
    func record(_ value: Double) {
        guard !value.isNaN else { return }
        counts[bucket(of: value)].count.add(1, ordering: .relaxed)
        sum.add(value)
    }

    func record(_ value: Int64) { record(Double(value)) }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    private func bucket(of value: Double) -> Int {
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The count is the sum of the buckets, so count and buckets agree also while others record; the sum may be a moment ahead.
    func render(family: String, labels: String, into page: inout PrometheusPage) {
        let separator = labels.isEmpty ? "" : ","
        var total = 0
        for (index, bound) in bounds.enumerated() {
            total += counts[index].count.load(ordering: .relaxed)
            page.sample(family + "_bucket", labels: "\(labels)\(separator)le=\"\(PrometheusPage.number(bound))\"", value: "\(total)")
        }
        total += counts[bounds.count].count.load(ordering: .relaxed)
        page.sample(family + "_bucket", labels: "\(labels)\(separator)le=\"+Inf\"", value: "\(total)")
        page.sample(family + "_sum", labels: labels, value: PrometheusPage.number(sum.value))
        page.sample(family + "_count", labels: labels, value: "\(total)")
    }
}
