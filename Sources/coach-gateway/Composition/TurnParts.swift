import ChatAPI
import CoachCore
import CoachStore
import Logging
import PostgresClient
import Reactor
import TokenRelay
import Webhooks

/// Running turns, and what begins, saves and recovers them.
struct TurnParts {
    let budgets: SharedBudgets
    /// Slows the intake of billing events down while turns are slow to begin.
    let intakePacer: IntakePacer
    let repository: TurnRepository
    let recovery: TurnRecovery
    let lease = LeaseMonitor()
    let records: CallRecordStore
    let registry: TurnRegistry
    let admission: Admission
    let remoteTurns: RemoteTurnTailer
    let recentDanger = RecentDanger()
    let streamLoop: StreamLoop
    let ratios: TokenRatios
    let finalizer: TurnFinalizer
    let lifecycle: InstanceLifecycle

    init(
        _ configuration: GatewayConfiguration, local: LocalInstance, documents: EditableDocuments, databases: Databases,
        longestAnswers: [ModelName: Int], reactor: Reactor, logger: Logger
    ) {
        let (instance, tiers, database) = (local.instance, documents.tiers, databases.short)
        let owner: @Sendable () throws -> TurnOwner = { try instance.owner() }
        let budgets = SharedBudgets(store: .postgres(client: database))
        self.budgets = budgets
        intakePacer = IntakePacer(eventsPerSecond: configuration.webhooks.eventsPerSecond)
        repository = local.storage.watch(
            intakePacer.watch(
                .postgres(
                    client: database, owner: owner, tiers: { tiers.current }, consents: configuration.requiredConsents,
                    exhausted: { budgets.exhausted() })))
        recovery = lease.watch(
            .postgres(client: database, checkpointClient: databases.checkpoints, textClient: databases.texts, owner: owner))
        records = CallRecordStore(ledger: .postgres(client: database), spool: local.calls, logger: logger)
        registry = TurnRegistry()
        let admission = Admission(registry: registry, maximumTurns: configuration.maximumTurns)
        self.admission = admission
        remoteTurns = RemoteTurnTailer(recovery: recovery, logger: logger)
        streamLoop = StreamLoop(reactor: reactor)
        ratios = TokenRatios(longestAnswers: longestAnswers)
        finalizer = TurnFinalizer(
            repository: repository, prices: documents.prices, ratios: ratios, registry: registry, spool: local.receipts, logger: logger,
            isClosing: { !admission.isOpen })
        lifecycle = InstanceLifecycle(
            instance: instance, receipts: ReceiptDelivery(finalizer: finalizer) { [slot = local.slot] in try slot.adopt() },
            calls: CallDelivery(records: records),
            leases: LeaseRenewer(recovery: recovery, registry: registry, logger: logger),
            checkpointer: Checkpointer(recovery: recovery, registry: registry, logger: logger),
            orphanCollector: OrphanCollector(
                recovery: recovery, repository: repository, prices: documents.prices, ratios: ratios, registry: registry, logger: logger),
            startFailures: local.startFailures, logger: logger)
    }
}
