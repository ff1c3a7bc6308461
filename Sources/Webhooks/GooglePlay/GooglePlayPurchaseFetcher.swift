import CoachCore
import Foundation
import JSON
import OutboundHTTP

/// Runs the jobs of `GooglePlayLookUp`: fetches the state of a purchase from Google Play and stores it as a billing event.
public struct GooglePlayPurchaseFetcher: Sendable {
    public static let kind = JobKind(rawValue: "look_up_play_purchase")
    /// The OAuth 2 scope of the service account's token.
    public static let scope = "https://www.googleapis.com/auth/androidpublisher"

    private let client: StoreClient
    private let inbox: BillingInbox
    private let catalogue: ProductCatalogue
    private let now: @Sendable () -> Date

    /// Ten requests a second at most, per instance. `accessToken`: of the service account, with `scope`.
    public init(
        baseURL: String, client: OutboundHTTPClient, inbox: BillingInbox, catalogue: ProductCatalogue,
        now: @escaping @Sendable () -> Date = { Date() }, accessToken: @escaping @Sendable () async throws -> String
    ) {
        self.client = StoreClient(client, baseURL: baseURL, interval: .milliseconds(100), accessToken: accessToken)
        self.inbox = inbox
        self.catalogue = catalogue
        self.now = now
    }

    /// Throws `StoreClientError`, `StoreFault`, what `accessToken` throws, or `CancellationError`.
    public func lookUp(_ lookUp: GooglePlayLookUp, messageID: String) async throws {
        let requestedAt = BillingInstant(clamping: now())
        let answer = try await client.get(
            [
                "androidpublisher", "v3", "applications", lookUp.package, "purchases", "subscriptionsv2", "tokens", lookUp.purchaseToken,
            ], accepting: [200, 410])
        // 410: the purchase expired more than 60 days ago. What is known of it is right.
        guard answer.status == 200 else { return }
        let id = "state:" + IntakeEvent.contentID(Array(messageID.utf8))
        let effect: BillingDelivery.Effect
        var environment = BillingEnvironment.production
        do throws(IgnoredReason) {
            let event = try GooglePlayPurchase.parse(
                answer.body, token: lookUp.purchaseToken, isRefunded: lookUp.isRefunded, id: id, requestedAt: requestedAt,
                catalogue: catalogue)
            if case .observation(let observation) = event.change { environment = observation.reference.environment }
            effect = .event(event)
        } catch {
            effect = .none(reason: "\(error)")
        }
        _ = try await inbox.store(
            BillingDelivery(
                source: .play, id: id, type: "subscriptionsv2", environment: environment, body: answer.body,
                names: SubscriberID.all(in: answer.body), effect: effect))
    }
}

extension GooglePlayLookUp {
    /// Enqueued with the notification, once for each.
    func job(messageID: String) -> NewJob {
        NewJob(
            GooglePlayPurchaseFetcher.kind,
            payload: [
                "package": .string(package), "token": .string(purchaseToken), "refunded": .bool(isRefunded), "message": .string(messageID),
            ])
    }

    /// The look-up of a job, and the notification that caused it; nil when the payload is not one of this kind.
    public static func of(_ job: Job) -> (lookUp: GooglePlayLookUp, messageID: String)? {
        guard let package = job.payload["package"]?.string, let token = job.payload["token"]?.string,
            let message = job.payload["message"]?.string
        else { return nil }
        return (GooglePlayLookUp(package: package, purchaseToken: token, isRefunded: job.payload["refunded"] == true), message)
    }
}
