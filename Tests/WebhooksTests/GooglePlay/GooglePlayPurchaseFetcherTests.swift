import CoachCore
import Foundation
import HTTPTestServers
import JSON
import OutboundHTTP
import Testing

@testable import Webhooks

@Suite("Look-up of Google Play purchases")
struct GooglePlayPurchaseFetcherTests {
    private static let user = "7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b"
    private let now = BillingInstant(milliseconds: 1_768_435_200_000)!

    private func body(_ state: String, expiry: String = "2026-02-01T00:00:00Z", _ more: String = "") -> String {
        """
        {"subscriptionState":"SUBSCRIPTION_STATE_\(state)","startTime":"2026-01-01T00:00:00Z",\
        "externalAccountIdentifiers":{"obfuscatedExternalAccountId":"\(Self.user)"},\
        "lineItems":[{"productId":"monthly","expiryTime":"\(expiry)","autoRenewingPlan":{"autoRenewEnabled":true}}]\(more)}
        """
    }

    private func parse(_ body: String, token: String = "token", isRefunded: Bool = false) throws(IgnoredReason) -> BillingEvent {
        try GooglePlayPurchase.parse(
            Array(body.utf8), token: token, isRefunded: isRefunded, id: "state:1", requestedAt: now,
            catalogue: ProductCatalogue(["monthly": ["pro"]]))
    }

    private func state(_ events: BillingEvent...) -> EntitlementState {
        EntitlementFold(events).state(of: SubscriberID(Self.user)!, at: now.advanced(by: 1), includingSandbox: false)
    }

    @Test(
        "each state gives or ends access",
        arguments: [
            ("ACTIVE", EntitlementState.Status.active), ("IN_GRACE_PERIOD", .grace), ("CANCELED", .cancelled), ("ON_HOLD", .expired),
            ("PAUSED", .paused), ("EXPIRED", .expired), ("PENDING_PURCHASE_CANCELED", .expired),
        ])
    func states(name: String, status: EntitlementState.Status) throws {
        let state = state(try parse(body(name)))
        #expect(state.status == status && state.store == .playStore)
        #expect(!state.isActive || state.entitlement == "pro")
    }

    @Test("a refund ends a subscription that has expired, and no other; each is counted")
    func refunds() throws {
        #expect(state(try parse(body("EXPIRED"), isRefunded: true)).status == .refunded)
        #expect(state(try parse(body("ACTIVE"), isRefunded: true)).status == .active)
        for (text, kind) in [("EXPIRED", BillingFigures.Kind.refund), ("ACTIVE", .refundedState), ("IN_GRACE_PERIOD", .refundedState)] {
            #expect(BillingFigures(try parse(body(text), isRefunded: true), price: nil)?.kind == kind)
        }
    }

    @Test("a pending purchase, an unknown state and one without an expiry have no effect")
    func withoutEffect() {
        for text in [body("PENDING"), body("NEW"), body("ACTIVE", expiry: "4466-01-01T00:00:00Z"), "[]", #"{"lineItems":[]}"#] {
            #expect(throws: IgnoredReason.self) { try parse(text) }
        }
    }

    @Test("a test purchase is a sandbox purchase, a free trial is a trial")
    func kinds() throws {
        #expect(state(try parse(body("ACTIVE", ",\"testPurchase\":{}"))) == .none)
        let trial = body("ACTIVE").replacing(#""productId""#, with: #""offerPhase":{"freeTrial":{}},"productId""#)
        #expect(state(try parse(trial)).status == .trial)
    }

    @Test("a purchase that replaces another ends it, and belongs to the same user if it names none")
    func linked() throws {
        let first = try parse(body("ACTIVE", expiry: "2026-12-01T00:00:00Z"), token: "one")
        let next = body("ACTIVE", ",\"linkedPurchaseToken\":\"one\"").replacing("externalAccountIdentifiers", with: "other")
        let second = try GooglePlayPurchase.parse(
            Array(next.utf8), token: "two", id: "state:2", requestedAt: now.advanced(by: 1), catalogue: ProductCatalogue())
        let state = state(first, second)
        #expect(state.isActive && state.expiresAt == second.expiry)
    }

    @Test("a replacement that was never paid for leaves the purchase as it is")
    func unpaidReplacement() throws {
        let first = try parse(body("ACTIVE"), token: "one")
        let unpaid = try GooglePlayPurchase.parse(
            Array(body("PENDING_PURCHASE_CANCELED", ",\"linkedPurchaseToken\":\"one\"").utf8), token: "two", id: "state:2",
            requestedAt: now.advanced(by: 1), catalogue: ProductCatalogue())
        #expect(state(first, unpaid).isActive)
    }

    @Test("a refund stays when the next look at the ended purchase does not name it")
    func refundedBefore() throws {
        let refunded = try parse(body("EXPIRED"), isRefunded: true)
        let later = try GooglePlayPurchase.parse(
            Array(body("EXPIRED").utf8), token: "token", id: "state:2", requestedAt: now.advanced(by: 1), catalogue: ProductCatalogue())
        #expect(state(refunded, later).status == .refunded)
    }

    @Test("the answer is stored as an event, a deleted purchase (410) changes nothing, and 503 is a temporary error")
    func lookUp() async throws {
        let (store, recorder) = (try StoreAPI(), InboxRecorder())
        let client = try OutboundHTTPClient(OutboundConfiguration())
        defer { client.shutDown() }
        let purchases = GooglePlayPurchaseFetcher(
            baseURL: store.url, client: client, inbox: recorder.inbox, catalogue: ProductCatalogue(),
            now: { [now] in Date(timeIntervalSince1970: Double(now.milliseconds) / 1000) }
        ) { "access" }
        let path = "/androidpublisher/v3/applications/com.example/purchases/subscriptionsv2/tokens/a.b"
        let lookUp = GooglePlayLookUp(package: "com.example", purchaseToken: "a.b", isRefunded: true)
        for status in [410, 503] { try await store.answer(path, status: status, "{}") }
        await #expect(throws: StoreClientError.temporary("the server answered 503")) {
            try await purchases.lookUp(lookUp, messageID: "7")
        }
        try await store.answer(path, status: 410, "{}")
        try await purchases.lookUp(lookUp, messageID: "7")
        #expect(recorder.deliveries.isEmpty)
        for text in [body("EXPIRED"), body("PENDING")] {
            try await store.answer(path, text)
            try await purchases.lookUp(lookUp, messageID: "7")
        }
        let deliveries = recorder.deliveries
        #expect(deliveries.count == 2 && deliveries[0].source == .play && deliveries[0].id == deliveries[1].id)
        guard case .event(let event) = deliveries[0].effect else {
            Issue.record("no event")
            return
        }
        #expect(state(event).status == .refunded)
        #expect(event.occurredAt == now && deliveries[1].effect == .none(reason: "the event does not affect entitlements"))
        #expect(deliveries.allSatisfy { $0.names.map(\.description) == [Self.user] })
        #expect(try await store.requests().allSatisfy { $0.authorization == "Bearer access" })
        let job = lookUp.job(messageID: "7")
        let taken = Job(
            run: JobRun(id: JobID(1), attempt: 1), isLastAttempt: false, userID: nil, kind: job.kind, payload: job.payload,
            idempotencyKey: nil)
        #expect(GooglePlayLookUp.of(taken)?.lookUp == lookUp && GooglePlayLookUp.of(taken)?.messageID == "7")
    }
}

extension BillingEvent {
    fileprivate var expiry: BillingInstant? {
        if case .observation(let observation) = change { observation.period.expiry?.instant } else { nil }
    }
}
