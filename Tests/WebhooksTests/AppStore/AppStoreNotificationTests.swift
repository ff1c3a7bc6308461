import CoachCore
import Foundation
import JSON
import Testing
import WebhookTestSupport

@testable import Webhooks

@Suite("App Store Server Notifications")
struct AppStoreNotificationTests {
    private let signer = SignedNotification()
    private let now = SignedNotification.now

    private func reader(_ signer: SignedNotification? = nil) throws -> AppStoreNotification {
        let catalogue = ProductCatalogue(["monthly": ["pro"], "life": ["pro"]])
        return AppStoreNotification(
            verifier: try SignedPayloadVerifier(roots: [(signer ?? self.signer).root]),
            policy: AppStorePolicy(bundleID: "com.example.coach", appAppleID: 1_234_567_890, catalogue: catalogue))
    }

    private func rejection(_ body: [UInt8], _ reader: AppStoreNotification) -> SignedPayloadVerifier.Rejection? {
        do throws(SignedPayloadVerifier.Rejection) {
            _ = try reader.parse(body, now: now)
            return nil
        } catch {
            return error
        }
    }

    private func change(_ intake: IntakeEvent) -> (event: PurchaseEvent, period: BillingPeriod)? {
        guard case .event(let event) = intake.outcome, case .purchase(_, let change, let period) = event.change else { return nil }
        return (change, period)
    }

    @Test(
        "each documented type that affects access is parsed",
        arguments: [
            ("SUBSCRIBED", "INITIAL_BUY", .purchased), ("DID_RENEW", nil, .renewed), ("DID_RENEW", "BILLING_RECOVERY", .renewed),
            ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", .cancelled),
            ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", .uncancelled), ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", .purchased),
            ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", .productChange(to: "yearly")),
            ("DID_FAIL_TO_RENEW", nil, .billingIssue(graceUntil: nil)), ("EXPIRED", "VOLUNTARY", .expired(paused: false)),
            ("GRACE_PERIOD_EXPIRED", nil, .expired(paused: false)), ("REFUND", nil, .refunded), ("REVOKE", nil, .refunded),
            ("REFUND_REVERSED", nil, .refundReversed), ("RENEWAL_EXTENDED", nil, .extended), ("OFFER_REDEEMED", nil, .purchased),
            ("OFFER_REDEEMED", "UPGRADE", .purchased), ("OFFER_REDEEMED", "DOWNGRADE", .productChange(to: "yearly")),
        ] as [(String, String?, PurchaseEvent)])
    func types(type: String, subtype: String?, expected: PurchaseEvent) throws {
        let body = signer.body(type, subtype: subtype, renewal: ["autoRenewProductId": "yearly"])
        let intake = try reader().parse(body, now: now)
        #expect(change(intake)?.event == expected && intake.id == "002e14d5-51f5-4503-b5a8-c3a1af68eb20" && intake.type == type)
    }

    @Test("the purchase, its user, its entitlement, its grace period and its refund are read from the signed content")
    func content() throws {
        let intake = try reader().parse(signer.body("SUBSCRIBED", transaction: ["offerDiscountType": "FREE_TRIAL"]), now: now)
        guard case .event(let event) = intake.outcome, case .purchase(let reference, _, let period) = event.change else {
            Issue.record("ignored")
            return
        }
        #expect(event.subject.map(\.text) == ["7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b", "appstore:1000"])
        #expect(reference.originalTransaction == "1000" && reference.transaction == "2000" && reference.store == .appStore)
        #expect(period.entitlements == ["pro"] && period.isTrial && period.renews && period.product == "monthly")
        let grace = SignedNotification.milliseconds + 16 * 86_400_000
        let failed = signer.body("DID_FAIL_TO_RENEW", renewal: ["gracePeriodExpiresDate": .integer(grace)])
        #expect(change(try reader().parse(failed, now: now))?.event == .billingIssue(graceUntil: BillingInstant(milliseconds: grace)))
        let revokedAt = SignedNotification.milliseconds - 5
        let refund = signer.body("REFUND", transaction: ["revocationDate": .integer(revokedAt)])
        let refunded = change(try reader().parse(refund, now: now))
        #expect(refunded?.period.expiry?.instant == BillingInstant(milliseconds: revokedAt))
    }

    @Test(
        "the price is what was paid, also for an upgrade, or refunded",
        arguments: [
            ("SUBSCRIBED", "INITIAL_BUY", 9_990_000_000), ("DID_RENEW", nil, 9_990_000_000), ("OFFER_REDEEMED", nil, 9_990_000_000),
            ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", 9_990_000_000), ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", nil),
            ("DID_CHANGE_RENEWAL_PREF", nil, nil), ("OFFER_REDEEMED", "DOWNGRADE", nil), ("REFUND", nil, -9_990_000_000),
            ("REFUND_REVERSED", nil, nil), ("REVOKE", nil, nil),
        ] as [(String, String?, Int64?)])
    func price(type: String, subtype: String?, nanodollars: Int64?) throws {
        func parsed(in currency: JSONValue) throws -> Nanodollars? {
            let body = signer.body(type, subtype: subtype, transaction: ["price": 9_990, "currency": currency])
            return try reader().parse(body, now: now).price
        }
        #expect(try parsed(in: "USD") == nanodollars.map { Nanodollars($0) })
        #expect(try parsed(in: "EUR") == nil)
    }

    @Test("a lifetime product needs an entry in the catalogue, because consumables have the same fields")
    func lifetime() throws {
        var product: [String: JSONValue] = ["type": "Non-Consumable", "expiresDate": .null, "productId": "life"]
        let life = try reader().parse(signer.body("ONE_TIME_CHARGE", transaction: product), now: now)
        #expect(change(life)?.period.expiry == .never)
        product["productId"] = "coins"
        let coins = try reader().parse(signer.body("ONE_TIME_CHARGE", transaction: product), now: now)
        #expect(coins.outcome == .ignored(.consumable))
    }

    @Test("the refund of a consumable product is not counted, because its sale is not; that of a lifetime product is")
    func refundFigures() throws {
        func figures(_ product: String) throws -> BillingFigures? {
            let transaction: [String: JSONValue] = ["type": "Non-Consumable", "expiresDate": .null, "productId": .string(product)]
            let intake = try reader().parse(signer.body("REFUND", transaction: transaction), now: now)
            guard case .event(let event) = intake.outcome else { return nil }
            return BillingFigures(event, price: intake.price)
        }
        #expect(try figures("coins") == nil)
        #expect(try figures("life")?.kind == .refund)
    }

    @Test("types without effect, unknown types and missing content are ignored")
    func ignored() throws {
        for type in ["TEST", "PRICE_INCREASE", "CONSUMPTION_REQUEST", "REFUND_DECLINED", "RENEWAL_EXTENSION", "METADATA_UPDATE"] {
            let intake = try reader().parse(signer.body(type, transaction: nil), now: now)
            #expect(intake.outcome == .ignored(.informational))
        }
        let unknown = try reader().parse(signer.body("SOMETHING_NEW"), now: now)
        #expect(unknown.outcome == .ignored(.unknownType))
        let account = try #require(UserID(validating: "7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b"))
        #expect(unknown.names.contains(SubscriberID(account)), "named in the signed content")
        let empty = try reader().parse(signer.body("DID_RENEW", transaction: nil), now: now)
        #expect(empty.outcome == .ignored(.missing("data.signedTransactionInfo")))
    }

    @Test("sandbox notifications give sandbox purchases; other apps and unsigned environments are rejected")
    func environments() throws {
        let sandbox = signer.body("DID_RENEW", data: ["environment": "Sandbox", "appAppleId": .null])
        let intake = try reader().parse(sandbox, now: now)
        #expect(intake.environment == .sandbox)
        let others: [[String: JSONValue]] = [
            ["environment": "Xcode"], ["environment": "LocalTesting"], ["bundleId": "com.other"], ["appAppleId": 1],
        ]
        for data in others {
            #expect(rejection(signer.body("DID_RENEW", data: data), try reader()) == .otherApp)
        }
    }

    @Test("other things that Apple has signed, and notifications of another app without app data, are rejected")
    func otherContent() throws {
        func rejection(_ payload: JSONValue) throws -> SignedPayloadVerifier.Rejection? {
            self.rejection(SignedNotification.body(signedPayload: signer.sign(payload)), try reader())
        }
        let date = JSONValue.integer(SignedNotification.milliseconds)
        #expect(try rejection(["bundleId": "com.example.coach", "transactionId": "2000", "signedDate": date]) == .otherApp)
        for (bundle, expected) in [("com.other", SignedPayloadVerifier.Rejection.otherApp), ("com.example.coach", nil)] {
            let payload: JSONValue = [
                "notificationType": "EXTERNAL_PURCHASE_TOKEN", "notificationUUID": "u", "signedDate": date,
                "externalPurchaseToken": ["bundleId": .string(bundle)],
            ]
            #expect(try rejection(payload) == expected)
        }
    }

    @Test("a chain to another root, of the wrong length, or without Apple's markers is rejected")
    func chains() throws {
        #expect(rejection(signer.body("DID_RENEW"), try reader(SignedNotification())) == .untrusted)
        let noLeafMarker = SignedNotification(hasLeafMarker: false)
        #expect(rejection(noLeafMarker.body("DID_RENEW"), try reader(noLeafMarker)) == .certificates)
        let noIntermediateMarker = SignedNotification(hasIntermediateMarker: false)
        #expect(rejection(noIntermediateMarker.body("DID_RENEW"), try reader(noIntermediateMarker)) == .certificates)
        let noAuthority = SignedNotification(hasAuthority: false)
        #expect(rejection(noAuthority.body("DID_RENEW"), try reader(noAuthority)) == .untrusted)
        let payload: JSONValue = ["notificationUUID": "u", "signedDate": .integer(SignedNotification.milliseconds)]
        for chain in [[], [signer.leaf, signer.intermediate], [signer.leaf, signer.intermediate, signer.root, signer.root]] {
            let short = SignedNotification.body(signedPayload: signer.sign(payload, chain: chain))
            #expect(rejection(short, try reader()) == .certificates)
        }
        let swapped = signer.sign(payload, chain: [signer.intermediate, signer.leaf, signer.root])
        #expect(rejection(SignedNotification.body(signedPayload: swapped), try reader()) == .untrusted)
    }

    @Test(
        "critical extensions are obeyed: policies where the chain requires them, and nothing that is unknown",
        arguments: [
            ([], [.policy], true), ([.policy], [.policy], true), ([.policy, .explicitPolicy], [.policy], true),
            ([.policy, .explicitPolicy], [], false), ([.explicitPolicy], [], false), ([.unknown], [], false), ([], [.unknown], false),
        ] as [([SignedNotification.CriticalExtension], [SignedNotification.CriticalExtension], Bool)])
    func criticalExtensions(
        intermediate: [SignedNotification.CriticalExtension], leaf: [SignedNotification.CriticalExtension], isTrusted: Bool
    ) throws {
        let signer = SignedNotification(intermediateExtensions: intermediate, leafExtensions: leaf)
        #expect(rejection(signer.body("DID_RENEW"), try reader(signer)) == (isTrusted ? nil : .untrusted))
    }

    @Test("certificates must be valid at the time of the signature")
    func dates() throws {
        let expired = SignedNotification(validFrom: 2 * 86_400)
        #expect(rejection(expired.body("DID_RENEW"), try reader(expired)) == .untrusted)
        let future = SignedNotification(validFrom: -3600)
        #expect(rejection(future.body("DID_RENEW"), try reader(future)) == .untrusted)
    }

    @Test("another algorithm, a changed payload, and inner content with another signer are rejected")
    func forged() throws {
        let payload: JSONValue = ["notificationUUID": "u", "signedDate": .integer(SignedNotification.milliseconds)]
        let none = SignedNotification.body(signedPayload: signer.sign(payload, algorithm: "none"))
        #expect(rejection(none, try reader()) == .algorithm)
        let parts = signer.sign(payload).split(separator: ".")
        let changed = "\(parts[0]).\(Base64URL.encode(#"{"notificationUUID":"v","signedDate":1767225600000}"#.utf8)).\(parts[2])"
        #expect(rejection(SignedNotification.body(signedPayload: changed), try reader()) == .signature)
        for year in [-62_200_000_000_000, 253_402_300_800_000, Int64.max] {
            let impossible = signer.sign(["notificationUUID": "u", "signedDate": .integer(year)])
            #expect(rejection(SignedNotification.body(signedPayload: impossible), try reader()) == .malformed)
        }
        let stranger: JSONValue = .string(SignedNotification().sign(["originalTransactionId": "1"]))
        #expect(rejection(signer.body("DID_RENEW", data: ["signedTransactionInfo": stranger]), try reader()) == .untrusted)
        for body in ["", "{}", #"{"signedPayload":1}"#, #"{"signedPayload":"a.b"}"#, #"{"signedPayload":"a.b.c"}"#] {
            #expect(rejection(Array(body.utf8), try reader()) == .malformed)
        }
    }
}
