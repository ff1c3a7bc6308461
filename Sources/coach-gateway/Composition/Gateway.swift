import BackgroundJobs
import ChatAPI
import CoachCore
import CoachStore
import CoreMetrics
import Foundation
import HTTPEdge
import Identity
import Logging
import ModelProviders
import OperatorAPI
import OutboundHTTP
import Reactor
import ServiceLifecycle
import Telemetry
import TokenRelay
import Webhooks

/// The parts list of a running gateway.
struct Gateway {
    private let configuration: GatewayConfiguration
    private let logger: Logger
    private let reactor: Reactor
    private let databases: Databases
    private let outbound: OutboundHTTPClient
    /// Held for the life of the process: no other may be this instance.
    private let slot: InstanceSlot
    private let services: [any Service]

    init(
        _ configuration: GatewayConfiguration, _ files: ProductFiles, databaseURL: String, logger: Logger, metrics: PrometheusMetricsFactory
    ) throws {
        self.configuration = configuration
        self.logger = logger
        reactor = try Reactor(name: "reactor")
        databases = try Databases(configuration, url: databaseURL, logger: logger, reactor: reactor)
        let (databases, database) = (databases, databases.short)
        outbound = try OutboundHTTPClient(configuration.outbound)
        let spans = configuration.traces.startTracing(outbound)

        // What this process is, and what it leaves on disk.
        let slot = try InstanceSlot(in: configuration.stateDirectory)
        let instance = GatewayInstance(id: slot.instance, client: database)
        let storage = StorageMonitor()
        let spool = storage.watch(
            try FileReceiptSpool(folder: slot.receipts).spool { unreadable in
                logger.critical(
                    "a spooled receipt cannot be read: it stays where it is",
                    metadata: ["path": "\(unreadable.path)", "reason": "\(unreadable.reason)"])
            })

        let schema = SchemaGate(
            client: database, needed: try DatabaseProbe.newestVersion(in: configuration.root.appendingPathComponent("db/migrations")))

        // The ports.
        let owner: @Sendable () throws -> TurnOwner = { try instance.owner() }
        // What operators edit while the gateway runs.
        let documents = EditableDocuments(files)
        let tiers = documents.tiers
        let budgets = SharedBudgets(store: .postgres(client: database))
        let repository = storage.watch(
            .postgres(
                client: database, owner: owner, tiers: { tiers.current }, consents: configuration.requiredConsents,
                exhausted: { budgets.exhausted }))
        let recovery = TurnRecovery.postgres(
            client: database, owner: owner, tiers: { tiers.current }, consents: configuration.requiredConsents,
            exhausted: { budgets.exhausted })
        let records = CallRecords(
            ledger: .postgres(client: database),
            spool: try FileCallSpool(folder: slot.calls).spool { unreadable in
                logger.critical(
                    "a spooled record of a model call cannot be read: it stays on disk",
                    metadata: ["path": "\(unreadable.path)", "reason": "\(unreadable.reason)"])
            }, logger: logger)
        let keys = ProviderKeys(of: files.models, environment: configuration.processEnvironment)
        let transfers = TransferPool(reactor: reactor, configuration: configuration.transfers)
        let providerHealth = ProviderHealthReport(models: files.models, logger: logger)
        let models = TierModels.routes(configuration: files.models, keys: keys, transfers: transfers) { providerHealth.take($0) }
        let judge = SafetyJudge(configuration: files.models, keys: keys, transfers: transfers) { providerHealth.takeFromJudge($0) }

        let documentStore = VersionedDocuments.postgres(client: database)
        let documentsAreLoaded = LiveValue(false)

        // Running turns, and what keeps them alive.
        let registry = TurnRegistry()
        let admission = Admission(registry: registry, maximumTurns: configuration.maximumTurns)
        let remoteTurns = RemoteTurnTailer(recovery: recovery, logger: logger)
        let streamLoop = StreamLoop(reactor: reactor)
        let ratios = TokenRatios()
        let finalizer = TurnFinalizer(
            repository: repository, prices: documents.prices, ratios: ratios, registry: registry, spool: spool, logger: logger,
            isClosing: { !admission.isOpen })
        let leases = LeaseRenewer(recovery: recovery, registry: registry, logger: logger)
        let checkpointer = Checkpointer(recovery: recovery, registry: registry, logger: logger)
        let orphanCollector = OrphanCollector(
            recovery: recovery, repository: repository, prices: documents.prices, ratios: ratios, registry: registry, logger: logger)
        let startFailures = StartFailures(database: database, logger: logger)
        let lifecycle = InstanceLifecycle(
            instance: instance, finalizer: finalizer, calls: CallDelivery(records: records), leases: leases, checkpointer: checkpointer,
            orphanCollector: orphanCollector, startFailures: startFailures, logger: logger)

        // Work beside the requests.
        let housekeeping = Housekeeping(client: databases.long, daysKept: configuration.deletedContentDays)
        let queue = JobQueue(client: database, instance: slot.instance)
        let inbox = BillingInbox.postgres(
            client: databases.long, intake: databases.intake, includingSandbox: configuration.webhooks.includesSandbox)
        let reconciliation = configuration.webhooks.reconciliation(outbound, inbox)
        let refolding = EntitlementRefolding(client: databases.long, includingSandbox: configuration.webhooks.includesSandbox)
        let summarizer = ConversationSummarizer(
            repository: .postgres(client: databases.long, consents: configuration.requiredConsents), records: records,
            coaching: documents.coaching,
            models: models, tiers: tiers, budgets: budgets, prices: documents.prices, ratios: ratios)
        let handlers = JobHandlers(
            housekeeping: housekeeping, removal: UserRemoval(client: databases.long), indexer: MessageIndexer(client: databases.long),
            summarizer: summarizer, queue: queue, refolding: refolding, reconciliation: reconciliation,
            playPurchases: configuration.webhooks.playPurchases(outbound, inbox),
            alertWebhook: configuration.alertWebhook?.webhook(outbound), logger: logger
        ).all
        let jobMetrics = JobMetrics(kinds: handlers.map(\.kind))
        let resourceMetrics = ResourceMetrics(databases)
        metrics.addSpoolMetrics(of: [slot.receipts, slot.calls])
        let jobs = JobRunner(queue: queue, handlers: handlers, metrics: jobMetrics, logger: logger)
        let figures = FigureUpdates(
            rollups: Rollups(client: databases.long),
            alerts: AlertEvaluation(
                alerts: Alerts(client: databases.long, instance: slot.instance, isDelivered: configuration.alertWebhook != nil),
                rules: documents.alertRules, receipts: slot.receipts, hasClassifiers: files.coachingParts.hasClassifiers,
                circuits: { providerHealth.circuits }, jobs: { try await queue.figures() }, logger: logger),
            jobs: jobs, logger: logger)

        // The edge.
        let userKeys = try configuration.userKeys(outbound)?.keySet(logger: logger)
        let googleKeys = try configuration.webhooks.googleKeys(outbound)?.keySet(logger: logger)
        let readiness: @Sendable () async -> InstanceReadiness = {
            InstanceReadiness(
                // Until it is registered it can begin no turn; until the documents are read it would use the shipped ones.
                database: databases.areReachable && instance.isRegistered && schema.isOpen && documentsAreLoaded.current,
                accepting: admission.isOpen,
                saving: storage.takesAnswers,
                details: [
                    "turns": "\(registry.count)", "executor_takeover": "\(EventLoopExecutor.isInstalled)", "instance": "\(instance.id)",
                ])
        }
        let figureEvents = FigureEvents(live: .postgres(client: databases.long), isOpen: { admission.isOpen })
        let resources = ResourceFeatures(
            databases: databases, configuration: configuration, documents: documents, documentStore: documentStore, tiers: tiers,
            figureEvents: figureEvents)
        let counter = RequestCounter.postgres(client: database, tiers: { tiers.current })
        let chat = ChatRoutes(
            coaching: documents.coaching, repository: repository, records: records, recovery: recovery, counter: counter, tiers: tiers,
            models: models, judge: judge, budgets: budgets,
            finalizer: finalizer,
            registry: registry, remoteTurns: remoteTurns, admission: admission,
            streamLoop: streamLoop, drafts: resources.personas.get)
        let application = GatewayApplication(
            .init(host: configuration.listen.host, port: configuration.listen.port, corsOrigins: configuration.corsOrigins),
            features: try [
                chat, ChatCompletionRoutes(chat: chat),
                ResponseRoutes(chat: chat, inputs: .postgres(client: database), removal: .postgres(client: database)),
                ModelRoutes(personas: resources.personas),
                SafetyRoutes(coaching: documents.coaching, safetyProtocol: files.coachingParts.safetyProtocol),
                ConversationRoutes(
                    conversations: .postgres(client: database), registry: registry, recovery: recovery),
                WebhookRoutes(
                    senders: configuration.webhooks.senders(googleKeys: googleKeys), inbox: inbox,
                    eventsPerSecond: configuration.webhooks.eventsPerSecond),
            ] + resources.all + configuration.developmentFeatures(),
            authenticator: Authenticator(
                identity: try Self.verifier(configuration, keySet: userKeys),
                sessions: SessionAuthentication(store: .postgres(client: database), publicOrigin: configuration.appLinks.origin),
                counter: counter, crisisResources: files.coachingParts.resources,
                unauthenticated: configuration.unauthenticatedRequests(tiers)),
            idempotency: .postgres(client: database),
            readiness: readiness, logger: logger,
            onListening: { port in
                logger.notice("listening", metadata: ["host": "\(configuration.listen.host)", "port": .stringConvertible(port)])
            })

        // Started in this order, stopped in the reverse one.
        services = [
            databases.service,
            SharedBudgetService(budgets: budgets, logger: logger),
            SpanService(exporter: spans, logger: logger),
            Background { if let userKeys { await userKeys.run() } else { try await gracefulShutdown() } },
            Background { if let googleKeys { await googleKeys.run() } else { try await gracefulShutdown() } },
            // No turn can begin before the instance is registered, and it is not with a schema that does not fit.
            Background {
                try await schema.admit { startFailures.report($0) }
                try await lifecycle.run()
            },
            PeriodicJob("schema check", PeriodicSchedule(every: .seconds(5), firstAfter: .seconds(5)), logger: logger) {
                switch try await schema.recheck() {
                case .closed(let finding): logger.critical("the schema does not fit this release", metadata: ["finding": "\(finding)"])
                case .opened: logger.notice("the schema fits this release")
                case nil: break
                }
            },
            DocumentReloader(documents: documentStore, types: documents.types).job(logger: logger) {
                documentsAreLoaded.replace(with: true)
            },
            Background { for await turnID in database.stopRequests() { registry.stop(turnID) } },
            Background { try await remoteTurns.run() },
            jobs,
            // On every instance: what one does the others find done.
            PeriodicJob(
                "housekeeping", PeriodicSchedule(every: .seconds(3600), retryEvery: .seconds(60), firstAfter: .seconds(1), jitter: 0.1),
                logger: logger
            ) {
                try await housekeeping.makePartitions()
                try await housekeeping.forgetDoneJobs()
                try await housekeeping.purgeIdempotencyKeys()
                if try await queue.enqueue(Housekeeping.purgeJob(at: Date())) != nil { jobs.poke() }
                if try await queue.enqueue(refolding.job(at: Date())) != nil { jobs.poke() }
                if reconciliation != nil, try await queue.enqueue(Reconciliation.expiringJob(at: Date())) != nil { jobs.poke() }
                try await housekeeping.detachPartitions(olderThan: configuration.ledgerDays)
            },
            PeriodicJob("provider keys", PeriodicSchedule(every: .seconds(5), firstAfter: .seconds(5), jitter: 0.2), logger: logger) {
                providerHealth.reloaded(keys.reload())
            },
            PeriodicJob("previews", PeriodicSchedule(every: .seconds(60), firstAfter: .seconds(60), jitter: 0.2), logger: logger) {
                try await housekeeping.purgePreviews()
            },
            PeriodicJob("lost summaries", PeriodicSchedule(every: .seconds(60), firstAfter: .seconds(15), jitter: 0.2), logger: logger) {
                let count = try await housekeeping.endLostSummaries()
                if count > 0 { logger.notice("calls of lost summaries were ended", metadata: ["calls": .stringConvertible(count)]) }
            },
            PeriodicJob("job figures", PeriodicSchedule(every: .seconds(15), firstAfter: .seconds(1), jitter: 0.2), logger: logger) {
                jobMetrics.record(try await queue.figures())
            },
            PeriodicJob("resource metrics", PeriodicSchedule(every: .seconds(1)), logger: logger) { await resourceMetrics.sample() },
            figures,
            PeriodicJob("figure events", FigureEvents.schedule, logger: logger) { await figureEvents.tick() },
            Background { try await HeapTrimming(registry: registry, streamLoop: streamLoop, logger: logger).run() },
            Background {
                try await Self.serveMetrics(configuration, readiness: readiness, metrics: metrics, registry: registry, logger: logger)
            },
            DrainingService(
                application, admission: admission, registry: registry, streamLoop: streamLoop, patience: configuration.drain,
                notice: configuration.drainNotice, logger: logger),
        ]
        self.slot = slot
    }

    /// Runs until SIGTERM or SIGINT: new turns are refused, running ones end, then the rest stops.
    func run() async throws {
        reactor.start()
        databases.start()
        var group = ServiceGroupConfiguration(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = max(configuration.drain, configuration.drainNotice) + Self.longestTurn
        try await ServiceGroup(configuration: group).run()
        outbound.shutDown()
        databases.stop()
        reactor.stop()
    }

    /// Above the turn limit of `deploy/models.json` and the time to save: what a drain may take after its patience.
    private static let longestTurn = Duration.seconds(200)

    private static func serveMetrics(
        _ configuration: GatewayConfiguration, readiness: @escaping @Sendable () async -> InstanceReadiness,
        metrics: PrometheusMetricsFactory, registry: TurnRegistry, logger: Logger
    ) async throws {
        guard let listen = configuration.metricsListen else { return try await gracefulShutdown() }
        try await MetricsApplication(
            host: listen.host, port: listen.port, readiness: readiness,
            render: { accept in
                let format = PrometheusFormat(accept: accept)
                Gauge(label: "coach_running_turns").record(registry.count)
                return (format.contentType, metrics.render(format))
            },
            onListening: { logger.notice("metrics available", metadata: ["port": .stringConvertible($0)]) }
        ).run()
    }

    private static func verifier(_ configuration: GatewayConfiguration, keySet: KeySet?) throws -> TokenVerifier {
        TokenVerifier(
            policy: TokenPolicy(audience: configuration.jwtAudience, issuer: configuration.jwtIssuer),
            secret: try configuration.jwtSecret.map { try SharedSecret($0) }, keySet: keySet)
    }
}
