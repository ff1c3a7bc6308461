import BackgroundJobs
import ChatAPI
import CoachCore
import CoachStore
import Foundation
import Logging
import Webhooks

/// The handlers of all kinds of jobs.
struct JobHandlers {
    let housekeeping: Housekeeping
    let removal: UserRemoval
    let indexer: MessageIndexer
    let summarizer: ConversationSummarizer
    let queue: JobQueue
    let refolding: EntitlementRefolding
    /// nil when it is not configured, as the next.
    let reconciliation: RevenueCatReconciliation?
    let playPurchases: GooglePlayPurchaseFetcher?
    let alertWebhook: AlertWebhook?
    let logger: Logger

    var all: [JobHandler] {
        [deleteUser, purgeDeletedContent, indexMessages, summarise, refold] + (reconciliation.map(reconcile) ?? [])
            + (playPurchases.map { [lookUp($0)] } ?? []) + (alertWebhook.map { [deliverAlert($0)] } ?? [])
    }

    private var deleteUser: JobHandler {
        JobHandler(.deleteUser, concurrency: 8, payload: \.userID) { [removal] userID in
            while true {
                switch try await removal.removePart(userID) {
                case .removed: return
                case .removing: try Task.checkCancellation()
                // A stopped turn is saved within a fraction of a second, if its instance runs. Polled, because the end of a turn sends no
                // notification: a pending one holds an instance-wide lock through the commit.
                case .stopping: try await Task.sleep(for: .milliseconds(250))
                }
            }
        }
    }

    private var indexMessages: JobHandler {
        JobHandler(.indexMessages, concurrency: 1, payload: \.userID) { [indexer] userID in
            while try await indexer.indexPart(userID) { try Task.checkCancellation() }
        }
    }

    private var summarise: JobHandler {
        JobHandler(
            .summariseConversation, concurrency: 2,
            payload: { job in job.userID.flatMap { userID in SummaryRequest(of: job).map { (userID, $0) } } }
        ) { [summarizer] userID, request in
            while try await summarizer.summarizePart(request, of: userID) { try Task.checkCancellation() }
        }
    }

    /// What is left when the time limit is reached is done by the next run.
    private var refold: JobHandler {
        JobHandler(EntitlementRefolding.kind, concurrency: 1, payload: { $0 }) { [refolding, logger] _ in
            var (last, unreadable): (EntitlementRefolding.Place?, Int) = (.start, 0)
            while let after = last {
                let part = try await refolding.refoldPart(after)
                last = part.last
                unreadable += part.unreadable
            }
            // Not a dead job: there would be one more each hour.
            if unreadable > 0 {
                logger.error("subscribers have a billing event that cannot be read", metadata: ["count": .stringConvertible(unreadable)])
            }
        }
    }

    private func reconcile(_ reconciliation: RevenueCatReconciliation) -> [JobHandler] {
        let kinds = [RevenueCatReconciliation.subscriberKind, RevenueCatReconciliation.checkedSubscriberKind]
        let subscribers = kinds.map { kind in
            JobHandler(kind, concurrency: 4, timeLimit: .seconds(60), payload: RevenueCatReconciliation.subscriber) { subscriber in
                try await Self.rejectingPermanentErrors { try await reconciliation.reconcile(subscriber) }
            }
        }
        return subscribers
            + RevenueCatReconciliation.ExpiryCheck.allCases.map { check in
                JobHandler(check.kind, concurrency: 1, payload: { $0 }) { [queue] _ in
                    try await reconciliation.enqueueExpiring(check, at: Date(), in: queue)
                }
            }
    }

    private func lookUp(_ purchases: GooglePlayPurchaseFetcher) -> JobHandler {
        JobHandler(GooglePlayPurchaseFetcher.kind, concurrency: 4, timeLimit: .seconds(60), payload: GooglePlayLookUp.of) {
            lookUp, messageID in
            try await Self.rejectingPermanentErrors { try await purchases.lookUp(lookUp, messageID: messageID) }
        }
    }

    private func deliverAlert(_ webhook: AlertWebhook) -> JobHandler {
        JobHandler(
            Alerts.delivery, concurrency: 2, timeLimit: .seconds(60), payload: { job in job.idempotencyKey.map { (job.payload, $0) } }
        ) {
            alert, key in
            try await webhook.deliver(alert, id: key)
        }
    }

    /// Turns a store's permanent error into a rejection of the job, which is not tried again.
    private static func rejectingPermanentErrors(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch StoreClientError.permanent(let reason) {
            throw JobRejected(reason)
        }
    }

    private var purgeDeletedContent: JobHandler {
        JobHandler(.purgeDeletedContent, concurrency: 1, payload: { $0 }) { [housekeeping, logger] _ in
            let conversations = try await housekeeping.purge()
            let personas = try await housekeeping.purgePersonas()
            if conversations + personas > 0 {
                logger.notice(
                    "deleted content was removed",
                    metadata: ["conversations": .stringConvertible(conversations), "personas": .stringConvertible(personas)])
            }
        }
    }
}
