import BackgroundJobs
import CoachCore
import CoreMetrics
import HTTPEdge
import Logging
import ServiceLifecycle
import Telemetry

/// What is measured of this process, and the server that shows it.
struct Monitoring {
    private let configuration: GatewayConfiguration
    private let readiness: ReadinessCheck
    private let turns: TurnParts
    private let resources: ResourceMetrics
    private let metrics: PrometheusMetricsFactory
    private let logger: Logger

    init(
        _ configuration: GatewayConfiguration, databases: Databases, local: LocalInstance, turns: TurnParts, readiness: ReadinessCheck,
        metrics: PrometheusMetricsFactory, logger: Logger
    ) {
        self.configuration = configuration
        self.readiness = readiness
        self.turns = turns
        self.metrics = metrics
        self.logger = logger
        resources = ResourceMetrics(databases)
        metrics.addSpoolMetrics(of: [local.slot.receipts, local.slot.calls])
    }

    /// In the order of their starts.
    var services: [any Service] {
        [
            PeriodicJob("resource metrics", PeriodicSchedule(every: .seconds(1)), logger: logger) { await resources.sample() },
            Background { try await HeapTrimming(registry: turns.registry, streamLoop: turns.streamLoop, logger: logger).run() },
            Background { try await serveMetrics() },
        ]
    }

    private func serveMetrics() async throws {
        guard let listen = configuration.metricsListen else { return try await gracefulShutdown() }
        try await MetricsApplication(
            host: listen.host, port: listen.port, readiness: { readiness.current },
            render: { accept in
                let format = PrometheusFormat(accept: accept)
                Gauge(label: "coach_running_turns").record(turns.registry.count)
                Gauge(label: "coach_ready").record(readiness.current.isReady ? 1 : 0)
                return (format.contentType, metrics.render(format))
            },
            onListening: { logger.notice("metrics available", metadata: ["port": .stringConvertible($0)]) }
        ).run()
    }
}
