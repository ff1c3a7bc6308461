import BackgroundJobs
import CoachCore
import CoachStore
import Foundation
import Logging
import OutboundHTTP
import Reactor
import ServiceLifecycle
import Telemetry
import TokenRelay

/// The parts list of a running gateway.
struct Gateway {
    private let configuration: GatewayConfiguration
    private let logger: Logger
    private let reactor: Reactor
    private let databases: Databases
    private let outbound: OutboundHTTPClient
    private let local: LocalInstance
    /// How long a drain may take after its grace period.
    private let longestTurn: Duration
    private let services: [any Service]

    init(
        _ configuration: GatewayConfiguration, _ files: ProductFiles, databaseURL: String, logger: Logger, metrics: PrometheusMetricsFactory
    ) throws {
        self.configuration = configuration
        self.logger = logger
        let reactor = try Reactor(name: "reactor", timeSlice: StreamLoop.timeSlice)
        let databases = try Databases(configuration, url: databaseURL, logger: logger, reactor: reactor)
        let outbound = try OutboundHTTPClient(configuration.outbound)
        let spans = configuration.traces.startTracing(outbound)
        let local = try LocalInstance(configuration, database: databases.short, logger: logger)
        (self.reactor, self.databases, self.outbound, self.local) = (reactor, databases, outbound, local)

        let documents = EditableDocuments(files)
        let documentStore = VersionedDocuments.postgres(client: databases.resources)
        let documentsAreLoaded = LiveValue(false)
        let models = ModelAccess(configuration, files.models, reactor: reactor, logger: logger)
        longestTurn = models.models.longestTurn
        let turns = TurnParts(
            configuration, local: local, documents: documents, databases: databases, longestAnswers: models.longestAnswers,
            reactor: reactor, logger: logger)
        let work = BackgroundWork(
            configuration, files, databases: databases, local: local, outbound: outbound, documents: documents, models: models,
            turns: turns, logger: logger)
        let tokens = try UserTokens(configuration, outbound: outbound, logger: logger)
        let readiness = ReadinessCheck(
            databases: databases, local: local, turns: turns, tokens: tokens.verifier, documentsAreLoaded: documentsAreLoaded)
        let http = try PublicHTTP(
            configuration, files, tokens: tokens.verifier, databases: databases, outbound: outbound, documents: documents,
            documentStore: documentStore, models: models, turns: turns, work: work, readiness: readiness, logger: logger)
        let monitoring = Monitoring(
            configuration, databases: databases, local: local, turns: turns, readiness: readiness, metrics: metrics, logger: logger)

        let connections: [any Service] = [
            databases.service, SharedBudgetService(budgets: turns.budgets, logger: logger), SpanService(exporter: spans, logger: logger),
        ]
        let state: [any Service] = [
            local.registration(turns.lifecycle), local.schemaCheck(logger: logger),
            DocumentReloader(documents: documentStore, types: documents.types).job(logger: logger) {
                documentsAreLoaded.replace(with: true)
            },
            Background { for await turnID in databases.stopRequests(logger: logger) { turns.registry.stop(turnID) } },
            Background { try await turns.remoteTurns.run() },
        ]
        let serving: [any Service] = [
            DrainingService(
                http.application, admission: turns.admission, registry: turns.registry, streamLoop: turns.streamLoop,
                gracePeriod: configuration.drain, notice: configuration.drainNotice, isReady: { readiness.current.database },
                logger: logger)
        ]
        let periodic: [any Service] = [models.keyReloading(logger: logger), http.figureEventJob(logger: logger)]
        // Started in this order, stopped in the reverse one.
        services = connections + tokens.keyServices + http.keyServices + state + work.services + periodic + monitoring.services + serving
    }

    /// Runs until SIGTERM or SIGINT: new turns are rejected, running ones end, then the rest stops.
    func run() async throws {
        reactor.start()
        databases.start()
        var group = ServiceGroupConfiguration(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = max(configuration.drain, configuration.drainNotice) + longestTurn
        try await ServiceGroup(configuration: group).run()
        outbound.shutDown()
        databases.stop()
        reactor.stop()
    }
}
