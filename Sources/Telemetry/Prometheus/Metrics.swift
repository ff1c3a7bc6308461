import CoreMetrics
import Synchronization

/// One time series, or the series of one histogram, with one set of labels.
protocol PrometheusMetric: AnyObject, Sendable {
    /// Appends the samples. `family` is their name, `labels` the text between the braces.
    func render(family: String, labels: String, into page: inout PrometheusPage)
}

/// A counter. Integer increments and floating-point increments are stored separately, so that neither loses precision.
final class PrometheusCounter: PrometheusMetric, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let fractional = AtomicDouble()

    /// Adds to the counter. Ignores negative amounts, because Prometheus interprets a decrease as a restart of the process.
    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        fractional.add(amount)
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        fractional.store(0)
    }

    func render(family: String, labels: String, into page: inout PrometheusPage) {
        let whole = whole.load(ordering: .relaxed)
        let fractional = fractional.value
        page.sample(family, labels: labels, value: fractional == 0 ? "\(whole)" : PrometheusPage.number(Double(whole) + fractional))
    }
}

/// A gauge. Also implements recorders without aggregation, which keep only their last value.
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

/// A histogram. Recording changes one bucket and the sum; rendering computes the cumulative counts that Prometheus requires.
final class PrometheusHistogram: PrometheusMetric, RecorderHandler, TimerHandler {
    private let bounds: [Double]
    /// One bucket per bound and a last one for values above all bounds.
    private let counts: [Bucket]
    private let sum = AtomicDouble()

    /// - Parameter bounds: upper bounds, inclusive, ascending.
    init(bounds: [Double]) {
        self.bounds = bounds
        counts = (0...bounds.count).map { _ in Bucket() }
    }

    /// A class, because an array cannot hold atomics.
    private final class Bucket: Sendable {
        let count = Atomic<Int>(0)
    }

    /// Records a value. Ignores NaN, which would make the sum NaN permanently.
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

    /// The count is computed from the buckets, so that they agree even during concurrent recordings. The sum may already include more
    /// values.
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
