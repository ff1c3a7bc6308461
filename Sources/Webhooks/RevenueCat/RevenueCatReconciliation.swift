import CoachCore
import Foundation
import JSON
import OutboundHTTP

/// Runs jobs that ask RevenueCat for the whole state of a subscriber and store it as a billing event. It repairs what webhooks missed:
/// RevenueCat gives up after five retries.
public struct RevenueCatReconciliation: Sendable {
    /// The kind of the job that reconciles one subscriber after an event.
    public static let subscriberKind = JobKind(rawValue: "reconcile_subscriber")
    /// The kind of the same job after a check: no webhook waits for it.
    public static let checkedSubscriberKind = JobKind(rawValue: "reconcile_expiring_subscriber")

    /// A job that finds subscribers whose access ends soon, or has just ended without an event. It enqueues a job for each of them. The raw value is
    /// the kind of this job.
    public enum ExpiryCheck: String, Sendable, CaseIterable {
        case daily = "reconcile_expiring"
        /// Finds a renewal whose event was lost while access still continues (`EntitlementFold.renewalDelay`).
        case hourly = "reconcile_overdue"

        public var kind: JobKind { JobKind(rawValue: rawValue) }

        fileprivate var within: Duration { self == .daily ? .seconds(86_400) : .milliseconds(EntitlementFold.renewalDelay) }

        /// The same all day, or all hour.
        fileprivate func key(at date: Date) -> String {
            let seconds = Int(date.timeIntervalSince1970)
            return self == .daily ? "day \(seconds / 86_400)" : "hour \(seconds / 3600)"
        }
    }

    private let client: StoreClient
    private let inbox: BillingInbox

    /// Four requests a second at most, per instance. `key`: a secret API key, version 1.
    public init(key: String, baseURL: String, client: OutboundHTTPClient, inbox: BillingInbox) {
        self.client = StoreClient(client, baseURL: baseURL, interval: .milliseconds(250)) { key }
        self.inbox = inbox
    }

    /// The job after an event of a subscriber. Events of one minute share a job, which runs in the minute after it.
    static func job(for subscriber: SubscriberID, after date: Date) -> NewJob {
        let seconds = Int(date.timeIntervalSince1970)
        let key = IntakeEvent.contentID(Array(subscriber.text.utf8))
        return job(subscriberKind, for: subscriber, key: "\(key):\(seconds / 60)", delay: .seconds(60 - seconds % 60 + share(of: 60, key)))
    }

    /// The job that calls `enqueueExpiring`, one for each day or hour.
    public static func job(_ check: ExpiryCheck, at date: Date) -> NewJob { NewJob(check.kind, idempotencyKey: check.key(at: date)) }

    /// Enqueues a job for each subscriber that the check finds, once for each day or hour, spread over the next hour. Throws `StoreFault`.
    public func enqueueExpiring(_ check: ExpiryCheck, at date: Date, in queue: JobQueue) async throws {
        var cursor: String?
        repeat {
            let page = try await inbox.expiring(check.within, cursor, 500)
            for user in page.items {
                let subscriber = SubscriberID(user)
                let key = IntakeEvent.contentID(Array(subscriber.text.utf8))
                _ = try await queue.enqueue(
                    Self.job(
                        Self.checkedSubscriberKind, for: subscriber, key: "\(key):\(check.key(at: date))",
                        delay: .seconds(Self.share(of: 3_600, key))))
            }
            cursor = page.nextCursor
        } while cursor != nil
    }

    /// The subscriber of a job; nil when its payload is not one of this kind.
    public static func subscriber(of job: Job) -> SubscriberID? { job.payload["subscriber"]?.string.flatMap { SubscriberID($0) } }

    /// Throws `StoreClientError`, `StoreFault` or `CancellationError`.
    public func reconcile(_ subscriber: SubscriberID) async throws {
        // 201: RevenueCat did not know the subscriber.
        let answer = try await client.get(["v1", "subscribers", subscriber.text], accepting: [200, 201])
        guard answer.status == 200 else { return }
        let event: BillingEvent
        do throws(IgnoredReason) {
            event = try RevenueCatSnapshot.parse(answer.body, of: subscriber)
        } catch {
            throw StoreClientError.permanent("RevenueCat's answer cannot be used: \(error)")
        }
        _ = try await inbox.store(
            BillingDelivery(
                source: .revenuecat, id: event.id, type: "SNAPSHOT", environment: .production, body: answer.body, effect: .event(event)))
    }

    /// A number below `count` for a key that ends with hexadecimal digits: spreads jobs that are enqueued together.
    private static func share(of count: Int, _ key: String) -> Int { ((Int(key.suffix(4), radix: 16) ?? 0) * count) >> 16 }

    private static func job(_ kind: JobKind, for subscriber: SubscriberID, key: String, delay: Duration) -> NewJob {
        // A user's job and its key are removed with the user.
        NewJob(
            kind, userID: subscriber.userID, payload: ["subscriber": .string(subscriber.text)], idempotencyKey: key, delay: delay)
    }
}
