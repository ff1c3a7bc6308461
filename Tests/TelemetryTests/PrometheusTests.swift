import CoreMetrics
import Synchronization
import Testing

@testable import Telemetry

@Suite("Prometheus")
struct PrometheusTests {
    private static func text(_ factory: PrometheusMetricsFactory, _ format: PrometheusFormat = .text) -> String {
        String(decoding: factory.render(format), as: UTF8.self)
    }

    /// One metric of each kind.
    private static func example() -> PrometheusMetricsFactory {
        let factory = PrometheusMetricsFactory(
            .init(timerBounds: [0.1, 1], recorderBounds: [4, 16], help: ["turn_outcomes_total": "Turns by \\ end\n\"kind\"."]))
        let done = Counter(label: "turn.outcomes", dimensions: [("outcome", "done"), ("domain", "a\"b\\c\nd")], factory: factory)
        done.increment(by: 3)
        FloatingPointCounter(label: "cost", factory: factory).increment(by: 1.5)
        Gauge(label: "streams-inflight", factory: factory).record(7)
        Meter(label: "pool.idle", factory: factory).set(2.5)
        let duration = Timer(label: "http.server.request.duration", dimensions: [("le", "x")], factory: factory)
        duration.recordMilliseconds(100)
        duration.recordSeconds(5)
        let sizes = Recorder(label: "prompt.tokens", factory: factory)
        for size in [4, 5, 100] { sizes.record(size) }
        return factory
    }

    @Test("the text format equals the golden text")
    func textFormat() {
        #expect(
            Self.text(Self.example()) == """
                # TYPE cost_total counter
                cost_total 1.5
                # TYPE http_server_request_duration_seconds histogram
                http_server_request_duration_seconds_bucket{exported_le="x",le="0.1"} 1
                http_server_request_duration_seconds_bucket{exported_le="x",le="1.0"} 1
                http_server_request_duration_seconds_bucket{exported_le="x",le="+Inf"} 2
                http_server_request_duration_seconds_sum{exported_le="x"} 5.1
                http_server_request_duration_seconds_count{exported_le="x"} 2
                # TYPE pool_idle gauge
                pool_idle 2.5
                # TYPE prompt_tokens histogram
                prompt_tokens_bucket{le="4.0"} 1
                prompt_tokens_bucket{le="16.0"} 2
                prompt_tokens_bucket{le="+Inf"} 3
                prompt_tokens_sum 109.0
                prompt_tokens_count 3
                # TYPE streams_inflight gauge
                streams_inflight 7.0
                # HELP turn_outcomes_total Turns by \\\\ end\\n"kind".
                # TYPE turn_outcomes_total counter
                turn_outcomes_total{domain="a\\"b\\\\c\\nd",outcome="done"} 3

                """)
    }

    @Test("OpenMetrics has counter families without suffix, units, and EOF at the end")
    func openMetrics() {
        let text = Self.text(Self.example(), .openMetrics)
        #expect(text.hasSuffix("\n# EOF\n"))
        #expect(text.contains("# TYPE turn_outcomes counter\nturn_outcomes_total{"))
        #expect(text.contains("# HELP turn_outcomes Turns by \\\\ end\\n\\\"kind\\\".\n"))
        #expect(
            text.contains("# TYPE http_server_request_duration_seconds histogram\n# UNIT http_server_request_duration_seconds seconds\n"))
    }

    @Test(
        "the format is the one that the Accept header prefers",
        arguments: [
            (nil, .text), ("*/*", .text), ("text/plain", .text), ("application/json", .text),
            ("application/openmetrics-text", .openMetrics),
            ("application/openmetrics-text; version=0.0.1", .text), ("application/openmetrics-text;q=0", .text),
            ("text/plain;q=0.5, application/openmetrics-text;q=0.4", .text),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
                    + "text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", .openMetrics
            ),
        ] as [(String?, PrometheusFormat)])
    func accept(header: String?, format: PrometheusFormat) {
        #expect(PrometheusFormat(accept: header) == format)
    }

    @Test("suffixes are added once and characters that are not allowed become underscores")
    func names() {
        let factory = PrometheusMetricsFactory(.init(timerBounds: []))
        Counter(label: "a_total", factory: factory).increment()
        Counter(label: "2xx.é-rate", factory: factory).increment()
        Timer(label: "t_seconds", factory: factory).recordNanoseconds(1)
        Counter(label: "l", dimensions: [("a.b", "1"), ("a_b", "2"), ("9", "3")], factory: factory).increment()
        let text = Self.text(factory)
        for line in ["\na_total 1\n", "\n_2xx___rate_total 1\n", "\nt_seconds_count 1\n", "\nl_total{_9=\"3\",a_b=\"2\"} 1\n"] {
            #expect(text.contains(line), "\(line) in \(text)")
        }
    }

    @Test("a value on a bound is in the bucket below it; NaN is not counted, infinity is")
    func bounds() {
        let factory = PrometheusMetricsFactory(.init(bounds: ["r": [2, 1]]))
        let recorder = Recorder(label: "r", factory: factory)
        for value in [1, 1.0000001, 2, 3, .nan, -.infinity] { recorder.record(value) }
        let text = Self.text(factory)
        #expect(text.contains("r_bucket{le=\"1.0\"} 2\nr_bucket{le=\"2.0\"} 4\nr_bucket{le=\"+Inf\"} 5\nr_sum -Inf\nr_count 5\n"))
    }

    @Test("counters never decrease, gauges do")
    func directions() {
        let factory = PrometheusMetricsFactory()
        let counter = Counter(label: "c", factory: factory)
        counter.increment(by: 5)
        counter.increment(by: -3)
        FloatingPointCounter(label: "c", factory: factory).increment(by: 0.25)
        let meter = Meter(label: "m", factory: factory)
        meter.set(1)
        meter.decrement(by: 3)
        #expect(Self.text(factory) == "# TYPE c_total counter\nc_total 5.25\n# TYPE m gauge\nm -2.0\n")
        counter.reset()
        #expect(Self.text(factory).contains("c_total 0\n"))
    }

    @Test("label sets beyond the limit are counted together")
    func overflow() {
        let factory = PrometheusMetricsFactory(.init(labelSetsPerFamily: 3))
        for user in 0..<100 { Counter(label: "c", dimensions: [("user", "\(user)")], factory: factory).increment() }
        Counter(label: "c", dimensions: [("user", "1")], factory: factory).increment()
        #expect(
            Self.text(factory) == """
                # TYPE c_total counter
                c_total{overflow="true"} 97
                c_total{user="0"} 1
                c_total{user="1"} 2
                c_total{user="2"} 1

                """)
    }

    @Test("every status of every route has a series of its own, because alerts look for statuses")
    func statuses() {
        let factory = PrometheusMetricsFactory()
        // More routes than the gateway has, each with every status of an error and some others.
        for route in 0..<200 {
            for status in [200, 201, 204, 303, 304, 400, 401, 403, 404, 405, 408, 409, 412, 413, 422, 428, 429, 431, 500, 503] {
                Counter(label: "c", dimensions: [("route", "/\(route)"), ("status", "\(status)")], factory: factory).increment()
            }
        }
        let text = Self.text(factory)
        #expect(text.contains(#"c_total{route="/199",status="503"} 1"#) && !text.contains("overflow"))
    }

    @Test("a metric with the name of another kind is counted as a conflict, and its handle works")
    func conflict() {
        let factory = PrometheusMetricsFactory()
        Counter(label: "x", factory: factory).increment()
        let gauge = Gauge(label: "x_total", factory: factory)
        gauge.record(9)
        #expect(Self.text(factory).contains("telemetry_conflicting_metrics_total 1\n"))
        #expect(Self.text(factory).contains("# TYPE x_total counter\nx_total 1\n"))
    }

    @Test("a series is removed with its last handle")
    func destroy() {
        let factory = PrometheusMetricsFactory()
        let (first, second) = (Counter(label: "c", factory: factory), Counter(label: "c", factory: factory))
        first.increment()
        first.destroy()
        second.increment()
        #expect(Self.text(factory).contains("c_total 2\n"))
        second.destroy()
        #expect(Self.text(factory).isEmpty)
    }

    @Test("collectors run before every rendering")
    func collectors() {
        let factory = PrometheusMetricsFactory()
        let meter = Meter(label: "m", factory: factory)
        final class Count: Sendable { let value = Atomic<Int>(0) }
        let runs = Count()
        factory.beforeRender { meter.set(runs.value.add(1, ordering: .relaxed).newValue) }
        _ = Self.text(factory)
        #expect(Self.text(factory).contains("m 2.0\n"))
    }

    @Test("process metrics contain CPU time, memory and open files", .enabled(if: ProcessReading.now() != nil))
    func process() {
        let factory = PrometheusMetricsFactory()
        factory.addProcessMetrics()
        func values() -> [String: Double] {
            let samples = Self.text(factory).split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ") }
            return Dictionary(uniqueKeysWithValues: samples.map { (String($0[0]), Double($0[1]) ?? .nan) })
        }
        let (first, second) = (values(), values())
        #expect(first.count == 5)
        #expect((first["process_cpu_seconds_total"] ?? 0) > 0)
        #expect((second["process_cpu_seconds_total"] ?? 0) >= (first["process_cpu_seconds_total"] ?? .infinity))
        #expect((1_000_000...10_000_000_000).contains(first["process_resident_memory_bytes"] ?? 0))
        #expect((first["process_open_fds"] ?? 0) > 2)
        #expect((first["process_max_fds"] ?? 0) >= (first["process_open_fds"] ?? .infinity))
    }

    @Test("concurrent recordings and renderings lose no value")
    func concurrency() async {
        let factory = PrometheusMetricsFactory()
        let (tasks, rounds) = (8, 5000)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    let counter = Counter(label: "c", factory: factory)
                    let broken = FloatingPointCounter(label: "f", factory: factory)
                    let meter = Meter(label: "m", factory: factory)
                    let timer = Timer(label: "t", dimensions: [("k", "\(task % 2)")], factory: factory)
                    for round in 0..<rounds {
                        counter.increment()
                        broken.increment(by: 0.5)
                        meter.increment(by: round % 2 == 0 ? 2 : -1)
                        timer.recordMilliseconds(round % 7)
                    }
                }
            }
            group.addTask { for _ in 0..<50 { _ = factory.render() } }
        }
        let text = Self.text(factory)
        let total = tasks * rounds
        #expect(text.contains("c_total \(total)\n"))
        #expect(text.contains("f_total \(Double(total) / 2)\n"))
        #expect(text.contains("m \(Double(total) / 2)\n"))
        #expect(text.contains("t_seconds_count{k=\"0\"} \(total / 2)\n"))
        #expect(text.contains("t_seconds_bucket{k=\"1\",le=\"+Inf\"} \(total / 2)\n"))
    }
}
