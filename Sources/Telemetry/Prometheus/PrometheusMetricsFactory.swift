import CoreMetrics
import Synchronization

/// The swift-metrics backend for Prometheus: stores all metrics and renders them.
///
/// Recording is lock-free. Creating a handle takes a lock, so create handles once, not per request. Two handles with the same label and
/// dimensions share one metric.
///
/// ```swift
/// let prometheus = PrometheusMetricsFactory()
/// MetricsSystem.bootstrap(prometheus)
/// let page = prometheus.render(.init(accept: request.headers["accept"]))
/// ```
///
/// | metrics API | Prometheus |
/// |---|---|
/// | Counter, FloatingPointCounter | counter, `_total` |
/// | Meter, Gauge (Recorder without aggregation) | gauge |
/// | Recorder with aggregation | histogram |
/// | Timer | histogram in seconds, `_seconds` |
public final class PrometheusMetricsFactory: MetricsFactory {
    /// Buckets of histograms, limits and help texts.
    public struct Configuration: Sendable {
        /// The upper bounds of the buckets of timers, in seconds.
        public var timerBounds: [Double]
        /// The upper bounds of the buckets of aggregating recorders.
        public var recorderBounds: [Double]
        /// The upper bounds of the buckets of particular metrics, by label of the metrics API.
        public var bounds: [String: [Double]]
        /// The most label sets of one family. Further ones are counted together under `overflow="true"`, so that sums remain correct and
        /// labels from user input cannot exhaust the memory.
        ///
        /// The default is far above what the gateway needs, whose labels are names of routes, models and outcomes, never user input: alerts look for labels,
        /// such as the status of requests, and the overflow has none. It is there for a label set that is unbounded by mistake.
        public var labelSetsPerFamily: Int
        /// The help texts, by name of the family as it is rendered.
        public var help: [String: String]

        /// The default bounds of timers cover 1 ms to 180 s, the time limit of a turn. Those of recorders grow by factors of four, as in
        /// OpenTelemetry's conventions for token counts.
        public init(
            timerBounds: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180],
            recorderBounds: [Double] = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576],
            bounds: [String: [Double]] = [:], labelSetsPerFamily: Int = 5_000, help: [String: String] = [:]
        ) {
            self.timerBounds = timerBounds
            self.recorderBounds = recorderBounds
            self.bounds = bounds
            self.labelSetsPerFamily = labelSetsPerFamily
            self.help = help
        }
    }

    private let configuration: Configuration
    private let registry: Mutex<PrometheusRegistry>
    private let collectors = Mutex<[@Sendable () -> Void]>([])

    /// Creates a factory without metrics.
    public init(_ configuration: Configuration = .init()) {
        self.configuration = configuration
        registry = Mutex(PrometheusRegistry(labelSetsPerFamily: configuration.labelSetsPerFamily))
    }

    /// Calls `collect` before every rendering, for gauges whose value is read on demand. `collect` must be fast and must not call `render`.
    public func beforeRender(_ collect: @escaping @Sendable () -> Void) { collectors.withLock { $0.append(collect) } }

    /// Renders all metrics, with the families sorted by name.
    public func render(_ format: PrometheusFormat = .text) -> [UInt8] {
        for collect in collectors.withLock({ $0 }) { collect() }
        let families = registry.withLock { $0.families }
        var page = PrometheusPage(format: format)
        for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.series.isEmpty {
            page.begin(family: name, kind: family.kind, help: family.help)
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.metric.render(family: name, labels: labels, into: &page)
            }
        }
        page.end()
        return page.bytes
    }

    private func metric<Metric: PrometheusMetric>(
        _ label: String, _ dimensions: [(String, String)], kind: MetricKind, make: () -> Metric
    ) -> Metric {
        let family = MetricName.family(label, kind: kind)
        return registry.withLock { registry in
            registry.metric(
                family: family, kind: kind, help: configuration.help[family],
                labels: MetricName.labels(dimensions, isHistogram: kind == .histogram || kind == .timer), make: make)
        }
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)], kind: MetricKind, usual: [Double]) -> PrometheusHistogram {
        let bounds = configuration.bounds[label] ?? usual
        return metric(label, dimensions, kind: kind) { PrometheusHistogram(bounds: bounds.sorted()) }
    }

    // MARK: MetricsFactory

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        metric(label, dimensions, kind: .counter) { PrometheusCounter() }
    }

    /// Shares its metric with an integer counter of the same name and dimensions.
    public func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        metric(label, dimensions, kind: .counter) { PrometheusCounter() }
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        metric(label, dimensions, kind: .gauge) { PrometheusGauge() }
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return metric(label, dimensions, kind: .gauge) { PrometheusGauge() } }
        return histogram(label, dimensions, kind: .histogram, usual: configuration.recorderBounds)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions, kind: .timer, usual: configuration.timerBounds)
    }

    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

    /// Removes the metric with its last handle.
    private func destroy(_ handler: AnyObject) { registry.withLock { $0.release(handler) } }
}
