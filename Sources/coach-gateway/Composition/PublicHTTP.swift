import BackgroundJobs
import CoachCore
import CoachStore
import HTTPEdge
import Identity
import Logging
import OperatorAPI
import OutboundHTTP
import ServiceLifecycle
import Webhooks

/// The public HTTP server: who may call it, and its routes.
struct PublicHTTP {
    let application: GatewayApplication
    private let figureEvents: FigureEvents
    /// Loads the keys that verify pushes of Google, where they are configured.
    let keyServices: [any Service]

    /// Throws for the URL of a key set that cannot be used.
    init(
        _ configuration: GatewayConfiguration, _ files: ProductFiles, tokens: TokenVerifier, databases: Databases,
        outbound: OutboundHTTPClient, documents: EditableDocuments, documentStore: VersionedDocuments, models: ModelAccess,
        turns: TurnParts, work: BackgroundWork, readiness: ReadinessCheck, logger: Logger
    ) throws {
        let googleKeys = try configuration.webhooks.googleKeys(outbound)?.keySet(logger: logger)
        let figureEvents = FigureEvents(
            live: .postgres(client: databases.long), isOpen: { [admission = turns.admission] in admission.isOpen })
        let counter = RequestCounter.postgres(client: databases.short, tiers: { [tiers = documents.tiers] in tiers.current })
        let resources = ResourceFeatures(
            databases: databases, configuration: configuration, documents: documents, documentStore: documentStore,
            figureEvents: figureEvents)
        let turnFeatures = TurnFeatures(
            coachingParts: files.coachingParts, documents: documents, models: models, turns: turns, counter: counter,
            database: databases.resources, personas: resources.personas)
        let webhooks: [any Feature] = [
            WebhookRoutes(
                senders: configuration.webhooks.senders(googleKeys: googleKeys?.keys), inbox: work.inbox,
                pacer: turns.intakePacer)
        ]
        application = GatewayApplication(
            .init(host: configuration.listen.host, port: configuration.listen.port, corsOrigins: configuration.corsOrigins),
            features: try turnFeatures.all + webhooks + resources.all + configuration.developmentFeatures(),
            authenticator: Authenticator(
                identity: tokens,
                sessions: SessionAuthentication(store: .postgres(client: databases.short), publicOrigin: configuration.appLinks.origin),
                counter: counter, crisisResources: files.coachingParts.resources,
                recentDanger: { [recentDanger = turns.recentDanger] in recentDanger.state(of: $0) },
                unauthenticated: configuration.unauthenticatedRequests(documents.tiers)),
            idempotency: .postgres(client: databases.short),
            readiness: { readiness.current }, logger: logger,
            onListening: { port in
                logger.notice("listening", metadata: ["host": "\(configuration.listen.host)", "port": .stringConvertible(port)])
            })
        self.figureEvents = figureEvents
        keyServices = googleKeys.map { [$0.job] } ?? []
    }

    func figureEventJob(logger: Logger) -> PeriodicJob {
        PeriodicJob("figure events", FigureEvents.schedule, logger: logger) { [figureEvents] in try await figureEvents.tick() }
    }
}
