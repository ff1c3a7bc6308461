import ChatAPI
import CoachCore
import Foundation
import HTTPEdge
import Identity
import Logging
import ModelProviders
import Reactor
import ServiceLifecycle
import TokenRelay

/// A gateway without a database, for measurements of the token path: edge, coaching, relay and dialects as in `Gateway`, with ports that save
/// nothing.
struct PassThrough {
    private let reactor: Reactor
    private let service: DrainingService
    private let logger: Logger
    private let registry: TurnRegistry
    private let streamLoop: StreamLoop

    init(_ configuration: GatewayConfiguration, _ files: ProductFiles, secret: String, logger: Logger) throws {
        self.logger = logger
        reactor = try Reactor(name: "reactor", timeSlice: StreamLoop.timeSlice)
        let recovery = NullPorts.recovery
        let documents = EditableDocuments(files)
        let registry = TurnRegistry()
        self.registry = registry
        let admission = Admission(registry: registry, maximumTurns: configuration.maximumTurns)
        let remoteTurns = RemoteTurnTailer(recovery: recovery, logger: logger)
        let streamLoop = StreamLoop(reactor: reactor)
        self.streamLoop = streamLoop
        let application = GatewayApplication(
            .init(host: configuration.listen.host, port: configuration.listen.port, corsOrigins: configuration.corsOrigins),
            features: [
                ChatRoutes(
                    coaching: documents.coaching, repository: NullPorts.repository,
                    records: CallRecordStore(ledger: NullPorts.ledger, spool: NullPorts.callSpool, logger: logger), recovery: recovery,
                    counter: NullPorts.counter, tiers: documents.tiers,
                    models: TierModels.routes(
                        configuration: files.models, keys: ProviderKeys(of: files.models, environment: configuration.processEnvironment),
                        transfers: TransferClient(reactor: reactor, configuration: configuration.transfers)),
                    budgets: SharedBudgets(store: NullPorts.slices),
                    finalizer: TurnFinalizer(
                        repository: NullPorts.repository, prices: documents.prices, registry: registry, spool: NullPorts.spool,
                        logger: logger),
                    registry: registry, remoteTurns: remoteTurns, recentDanger: RecentDanger(), admission: admission,
                    streamLoop: streamLoop,
                    drafts: { _, _ in throw Rejection(reason: .notFound) })
            ],
            authenticator: Authenticator(
                identity: TokenVerifier(
                    policy: TokenPolicy(audience: configuration.jwtAudience, issuer: configuration.jwtIssuer),
                    secret: try SharedSecret(secret), keySet: nil),
                sessions: SessionAuthentication(store: NullPorts.sessions, publicOrigin: nil), counter: NullPorts.counter,
                crisisResources: files.coachingParts.resources, recentDanger: { _ in (.calm, .unknown) },
                unauthenticated: configuration.unauthenticatedRequests(documents.tiers)),
            idempotency: NullPorts.idempotency,
            readiness: { InstanceReadiness(database: true, accepting: admission.isOpen) }, logger: logger,
            onListening: { port in logger.notice("listening, nothing is saved", metadata: ["port": .stringConvertible(port)]) })
        service = DrainingService(
            application, admission: admission, registry: registry, streamLoop: streamLoop, gracePeriod: configuration.drain,
            notice: configuration.drainNotice, logger: logger)
    }

    /// Runs until SIGTERM or SIGINT.
    func run() async throws {
        reactor.start()
        let trimming = HeapTrimming(registry: registry, streamLoop: streamLoop, logger: logger)
        try await ServiceGroup(
            configuration: .init(
                services: [Background { try await trimming.run() }, service], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        ).run()
        reactor.stop()
    }
}

/// Ports that allow every request and save nothing.
private enum NullPorts {
    static let sessions = OperatorSessions(open: { _, _ in }, expiry: { _ in nil }, close: { _ in false })
    static let ledger = CallLedger { _ in true }
    static let repository = TurnRepository(
        begin: { _, request, _ in
            let identity = TurnIdentity(
                turnID: .random(), conversationID: request.conversationID ?? .random(), userMessageID: .random(), messageID: .random(),
                attempt: 1)
            return .begun(
                TurnContext(
                    identity: identity, day: CalendarDay(unixSeconds: 0), profile: nil, summary: nil, history: [], persona: nil,
                    safetyLevel: .calm, conversationDomain: nil, region: request.region), message: request.message, unlimited)
        },
        repeated: { _, _ in nil }, retry: { _, _ in .rejected(Rejection(reason: .notFound), unlimited) }, repeatedRetry: { _, _ in nil },
        raiseRisk: { _, _, _ in }, finish: { _ in .finalized }, abandon: { _, _ in })

    static let recovery = TurnRecovery(
        renewLease: { [] }, checkpoint: { _, _ in nil }, load: { _, _ in nil }, tail: { _ in [] }, requestStop: { _, _ in false },
        orphans: { _ in [] })

    static let counter = RequestCounter(
        take: { _, _ in CountedRequest(rate: unlimited, safetyLevel: .calm) }, giveBackMessage: { _, _ in })

    static let idempotency = IdempotentRequests(
        claim: { _, _ in .claimed(resourceID: UUID()) }, complete: { _, _, _ in }, release: { _, _, _ in })

    static let spool = ReceiptSpool(keep: { _ in ReceiptSpool.Handle(name: "") }, discard: { _ in }, pending: { _ in [] })
    static let callSpool = CallSpool(keep: { _ in CallSpool.Handle(name: "") }, discard: { _ in }, reject: { _ in }, pending: { [] })

    static let slices = BudgetSlices(take: { _, _, _, want in want }, giveBack: { _, _, _ in })

    private static let unlimited = RateLimit(limit: 1_000_000, remaining: 1_000_000, resetAt: 0)
}
