import CoachCore
import Foundation
import HTTPEdge
import HTTPTypes
import Hummingbird

/// `POST /functions/v1/webhook-…`: events of billing senders (CONTRACT §6). 401 stores nothing; a verified body is stored and answered 200
/// whatever it holds; 503 while the database is away, so that the sender tries again.
///
/// Chat comes first: a sender that delivers the events of a day at once is answered at a pace that leaves the processors to turns (`IntakePace`).
public struct WebhookRoutes: Feature {
    private typealias Reader = @Sendable (_ request: Request, _ body: [UInt8]) async throws -> IntakeEvent

    private let senders: BillingSenders
    private let inbox: BillingInbox
    private let pacer: IntakePacer
    private let now: @Sendable () -> Date

    /// - Parameter pacer: of this instance; it watches turns.
    public init(senders: BillingSenders, inbox: BillingInbox, pacer: IntakePacer, now: @escaping @Sendable () -> Date = { Date() }) {
        self.senders = senders
        self.inbox = inbox
        self.pacer = pacer
        self.now = now
    }

    public func register(on routes: RouteTable) {
        let group = routes.open("Webhooks", addressLimit: .unverified)
        for (name, sender, reader) in readers {
            var description = RouteDescription.takingAnyBody("Receive an event of \(sender)", response: .data(.any))
            // Credentials or a signature that are missing or wrong.
            description.failures = [401]
            group.post("/functions/v1/webhook-\(name)", description) { request, context in
                guard let reader else { throw GatewayError(.overloaded, "this webhook is not configured", retryAfter: 3600) }
                let body = try await request.collectBytes()
                let event = try await reader(request, body)
                guard try await pacer.store({ try await inbox.store(delivery(event, body)) }) != nil else {
                    throw GatewayError(.overloaded, "more events came than can be stored in time", retryAfter: 60)
                }
                return .envelope(context) { $0.object { _ in } }
            }
        }
    }

    /// Verifies and parses a body; nil for a sender that is not configured.
    private var readers: [(name: String, sender: String, reader: Reader?)] {
        [
            ("revenuecat", "RevenueCat", senders.revenueCat.map(revenueCat)), ("stripe", "Stripe", senders.stripe.map(stripe)),
            ("appstore", "the App Store", senders.appStore.map(appStore)), ("play", "Google Play", senders.play.map(play)),
        ]
    }

    private func revenueCat(_ sender: BillingSenders.RevenueCat) -> Reader {
        { request, body in
            let isValid = sender.credentials.isValid(
                authorization: request.headers[.authorization], signature: request.headers[sender.signatureHeader], body: body,
                unixSeconds: unixSeconds)
            guard isValid else { throw Self.unverified }
            return RevenueCatEvent.parse(body)
        }
    }

    private func stripe(_ sender: BillingSenders.Stripe) -> Reader {
        { request, body in
            let header = request.headers[Self.stripeSignature]
            guard sender.signature.isValid(header: header, body: body, unixSeconds: unixSeconds) else { throw Self.unverified }
            return StripeEvent.parse(body, catalogue: sender.catalogue)
        }
    }

    private func appStore(_ notification: AppStoreNotification) -> Reader {
        { _, body in
            do throws(SignedPayloadVerifier.Rejection) {
                return try notification.parse(body, now: now())
            } catch {
                throw Self.unverified
            }
        }
    }

    private func play(_ sender: BillingSenders.GooglePlay) -> Reader {
        { request, body in
            do {
                try await sender.authenticate(request.headers[.authorization], now())
            } catch let error as GatewayError where error.httpStatus >= 500 {
                throw error
            } catch {
                throw Self.unverified
            }
            return GooglePlayNotification.parse(body, package: sender.package, canLookUp: sender.canLookUp)
        }
    }

    private func delivery(_ event: IntakeEvent, _ body: [UInt8]) -> BillingDelivery {
        let effect: BillingDelivery.Effect =
            switch event.outcome {
            case .ignored(let reason): .none(reason: "\(reason)")
            case _ where event.source != .revenuecat && !senders.foldsStoreEvents: .none(reason: "\(IgnoredReason.otherSender)")
            case .event(let event): .event(event)
            case .lookUp(let lookUp): .lookUp(lookUp.job(messageID: event.id))
            }
        return BillingDelivery(
            source: event.source, id: event.id, type: event.type, environment: event.environment, body: body,
            names: event.names, effect: effect, price: event.price, followUp: reconciliations(after: event))
    }

    private func reconciliations(after event: IntakeEvent) -> [NewJob] {
        guard senders.revenueCat?.reconciles == true else { return [] }
        return event.reconciled.map { RevenueCatReconciliation.job(for: $0, after: now()) }
    }

    private var unixSeconds: Int64 { Int64(now().timeIntervalSince1970) }

    private static let unverified = GatewayError(.unauthenticated, "the sender of this webhook is not verified")
    private static let stripeSignature = HTTPField.Name("stripe-signature")!
}
