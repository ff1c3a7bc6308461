import BackgroundJobs
import ChatAPI
import CoachCore
import CoachStore
import Foundation
import Logging
import OutboundHTTP
import ServiceLifecycle
import Webhooks

/// The work beside the requests: durable jobs, maintenance of the database, and figures.
struct BackgroundWork {
    let inbox: BillingInbox
    private let housekeeping: Housekeeping
    private let queue: JobQueue
    private let reconciliation: RevenueCatReconciliation?
    private let refolding: EntitlementRefolding
    private let jobs: JobRunner
    private let jobMetrics: JobMetrics
    private let figures: FigureUpdates
    private let removal: UserRemoval
    private let recentDanger: RecentDanger
    private let ledgerDays: Int
    private let logger: Logger

    init(
        _ configuration: GatewayConfiguration, _ files: ProductFiles, databases: Databases, local: LocalInstance,
        outbound: OutboundHTTPClient, documents: EditableDocuments, models: ModelAccess, turns: TurnParts, logger: Logger
    ) {
        let webhooks = configuration.webhooks
        let queue = JobQueue(client: databases.short, instance: local.slot.instance)
        housekeeping = .postgres(client: databases.long, daysKept: configuration.deletedContentDays)
        removal = .postgres(client: databases.long)
        recentDanger = turns.recentDanger
        inbox = BillingInbox.postgres(client: databases.long, intake: databases.intake, includingSandbox: webhooks.includesSandbox)
        reconciliation = webhooks.reconciliation(outbound, inbox)
        refolding = .postgres(client: databases.long, includingSandbox: webhooks.includesSandbox)
        let handlers = JobHandlers(
            housekeeping: housekeeping, removal: removal, indexer: .postgres(client: databases.long),
            summarizer: ConversationSummarizer(
                repository: .postgres(client: databases.long, consents: configuration.requiredConsents) { [tiers = documents.tiers] in
                    tiers.current
                }, records: turns.records, coaching: documents.coaching, models: models.models, tiers: documents.tiers,
                budgets: turns.budgets, prices: documents.prices, ratios: turns.ratios),
            queue: queue, refolding: refolding, reconciliation: reconciliation, playPurchases: webhooks.playPurchases(outbound, inbox),
            alertWebhook: configuration.alertWebhook?.webhook(outbound), logger: logger
        ).all
        jobMetrics = JobMetrics(kinds: handlers.map(\.kind))
        jobs = JobRunner(queue: queue, handlers: handlers, metrics: jobMetrics, logger: logger)
        figures = FigureUpdates(
            rollups: .postgres(client: databases.long),
            alerts: AlertEvaluation(
                alerts: .postgres(
                    client: databases.long, instance: local.slot.instance, release: local.newestMigration,
                    isDelivered: configuration.alertWebhook != nil),
                rules: documents.alertRules, receipts: local.slot.receipts, hasClassifiers: files.coachingParts.hasClassifiers,
                circuits: { [health = models.health] in health.readCircuits() }, jobs: { try await queue.figures() }, logger: logger),
            jobs: jobs, logger: logger)
        ledgerDays = configuration.ledgerDays
        self.queue = queue
        self.logger = logger
    }

    /// In the order of their starts. On every instance: what one does the others find done.
    var services: [any Service] {
        [
            jobs, maintenance,
            PeriodicJob("previews", PeriodicSchedule(every: .seconds(60), firstAfter: .seconds(60), jitter: 0.2), logger: logger) {
                _ = try await housekeeping.purgePreviews()
            },
            PeriodicJob("removed users", PeriodicSchedule(every: .seconds(3600), firstAfter: .seconds(3600), jitter: 0.1), logger: logger) {
                try await recentDanger.forget(removed: removal.removed)
            },
            PeriodicJob("lost summaries", PeriodicSchedule(every: .seconds(60), firstAfter: .seconds(15), jitter: 0.2), logger: logger) {
                let count = try await housekeeping.endLostSummaries()
                if count > 0 { logger.notice("calls of lost summaries were ended", metadata: ["calls": .stringConvertible(count)]) }
            },
            PeriodicJob("job figures", PeriodicSchedule(every: .seconds(15), firstAfter: .seconds(1), jitter: 0.2), logger: logger) {
                jobMetrics.record(try await queue.figures())
            },
            figures,
        ]
    }

    /// Makes and removes partitions, forgets what is done, and enqueues the jobs of the hour and of the day.
    private var maintenance: PeriodicJob {
        PeriodicJob(
            "housekeeping", PeriodicSchedule(every: .seconds(3600), retryEvery: .seconds(60), firstAfter: .seconds(1), jitter: 0.1),
            logger: logger
        ) {
            let now = Date()
            // Each whether or not another fails: who reads the ledger for long keeps partitions from being made, and lost renewals must still be found.
            var steps = IndependentSteps()
            let checks = reconciliation == nil ? [] : RevenueCatReconciliation.ExpiryCheck.allCases
            for job in [Housekeeping.purgeJob(at: now), refolding.job(at: now)] + checks.map({ RevenueCatReconciliation.job($0, at: now) })
            {
                await steps.run { if try await queue.enqueue(job) != nil { jobs.notify() } }
            }
            await steps.run { try await housekeeping.forgetDoneJobs() }
            await steps.run { try await housekeeping.purgeIdempotencyKeys() }
            await steps.run { _ = try await housekeeping.makePartitions() }
            await steps.run { try await housekeeping.detachPartitions(ledgerDays) }
            try steps.finish()
        }
    }
}

/// Runs steps one after another. A step that fails does not keep the next one from running.
private struct IndependentSteps {
    private var failure: (any Error)?

    mutating func run(_ step: () async throws -> Void) async {
        do { try await step() } catch { failure = failure ?? error }
    }

    /// Throws the first error of a step.
    func finish() throws {
        if let failure { throw failure }
    }
}
