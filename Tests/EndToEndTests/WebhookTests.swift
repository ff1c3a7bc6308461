import Foundation
import TestSupport
import Testing

@Suite("Billing webhooks", .paced)
struct WebhookTests {
    private static let authorization = "Bearer webhook-password"
    private static let secret = "webhook-signing-secret"
    private static let path = "/functions/v1/webhook-revenuecat"

    private static let ground = Task {
        try await Stage.shared().anotherGateway([
            "REVENUECAT_WEBHOOK_AUTH": authorization, "REVENUECAT_WEBHOOK_HMAC_SECRET": "old-secret, \(secret)",
            "STRIPE_WEBHOOK_SECRET": "whsec_test",
        ])
    }

    /// A month in milliseconds.
    private let month: Int64 = 30 * 86_400_000
    private let now = Int64(Date().timeIntervalSince1970 * 1000)

    private func body(
        _ type: String, _ user: String, at: Int64? = nil, until: Int64? = nil, id: String = UUID().uuidString, _ more: [String: Any] = [:]
    ) throws -> [UInt8] {
        let event: [String: Any] = [
            "type": type, "id": id, "event_timestamp_ms": at ?? now, "app_user_id": user, "aliases": [user], "product_id": "monthly",
            "entitlement_ids": ["pro"], "period_type": "NORMAL", "purchased_at_ms": now, "expiration_at_ms": until ?? now + month,
            "store": "APP_STORE", "environment": "PRODUCTION", "transaction_id": "t-\(user)", "original_transaction_id": "t-\(user)",
        ]
        let root: [String: Any] = ["api_version": "1.0", "event": event.merging(more) { $1 }]
        return Array(try JSONSerialization.data(withJSONObject: root))
    }

    private func signature(_ body: [UInt8], secret: String = secret, at seconds: Int64? = nil) -> String {
        let time = "\(seconds ?? now / 1000)"
        let code = SHA256.hmac(key: Array(secret.utf8), message: Array("\(time).".utf8) + body)
        return "t=\(time),v1=" + code.map { String(format: "%02x", $0) }.joined()
    }

    private func send(_ body: [UInt8], headers: [String: String]? = nil) async throws -> Answer {
        let gateway = try await Self.ground.value
        let signed = ["Authorization": Self.authorization, "X-RevenueCat-Webhook-Signature": signature(body)]
        return try await Browser(port: gateway.port).send("POST", Self.path, body: body, headers: headers ?? signed)
    }

    private func subscription(of user: String) async throws -> JSONObject {
        let answer = try await TestUser(gateway: try await Self.ground.value, id: user).browser.send("GET", "/api/v1/me/subscription")
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json.object("data")
    }

    private func stored(_ id: String) async throws -> [JSONObject] {
        try await Stage.shared().database.rows("select status, ignored_reason from gateway.billing_events where event_id = '\(id)'")
    }

    private func newUser() -> String { UUID().uuidString.lowercased() }

    @Test("a purchase before its user exists is the user's subscription, in either case of the id")
    func purchase() async throws {
        let user = newUser()
        let answer = try await send(try body("INITIAL_PURCHASE", user.uppercased()))
        #expect(answer.status == 200 && answer.json.flag("success") == true && answer.json.object("data").names == [])
        let subscription = try await subscription(of: user)
        #expect(
            subscription.names == ["active", "status", "entitlement", "is_trial", "expires_at", "will_renew", "in_grace", "store"])
        #expect(subscription.flag("active") == true && subscription["status"] == "active" && subscription["entitlement"] == "pro")
        #expect(subscription.flag("will_renew") == true && subscription["store"] == "app_store" && subscription["expires_at"] != nil)
        let none = try await self.subscription(of: newUser())
        #expect(none.flag("active") == false && none["status"] == "none" && none.isNull("expires_at") && none.isNull("store"))
    }

    @Test("a sender that is not verified gets 401, and nothing is stored")
    func unverified() async throws {
        let id = UUID().uuidString
        let body = try body("INITIAL_PURCHASE", newUser(), id: id)
        let valid = signature(body)
        let attempts: [[String: String]] = [
            [:], ["Authorization": Self.authorization], ["X-RevenueCat-Webhook-Signature": valid],
            ["Authorization": "Bearer wrong", "X-RevenueCat-Webhook-Signature": valid],
            ["Authorization": Self.authorization, "X-RevenueCat-Webhook-Signature": signature(body, secret: "other")],
            ["Authorization": Self.authorization, "X-RevenueCat-Webhook-Signature": signature(body, at: now / 1000 - 400)],
            ["Authorization": Self.authorization, "X-RevenueCat-Webhook-Signature": signature(body, at: now / 1000 + 400)],
            ["Authorization": Self.authorization, "X-RevenueCat-Webhook-Signature": signature(body + [0x20])],
        ]
        for headers in attempts {
            let answer = try await send(body, headers: headers)
            #expect(answer.status == 401 && answer.errorCode == "AUTH_1002", "\(headers): \(answer.text)")
        }
        #expect(try await stored(id).isEmpty)
        let rotated = ["Authorization": Self.authorization, "X-RevenueCat-Webhook-Signature": signature(body, secret: "old-secret")]
        #expect(try await send(body, headers: rotated).status == 200)
        #expect(try await stored(id).count == 1)
    }

    @Test("any order and number of deliveries gives one subscription")
    func anyOrder() async throws {
        let user = newUser()
        let grace = now + month + 86_400_000
        let events = [
            try body("INITIAL_PURCHASE", user, at: now - 50), try body("RENEWAL", user, at: now - 40, until: now + month),
            try body("CANCELLATION", user, at: now - 30, ["cancel_reason": "UNSUBSCRIBE"]), try body("UNCANCELLATION", user, at: now - 20),
            try body("BILLING_ISSUE", user, at: now - 10, ["grace_period_expiration_at_ms": grace]),
        ]
        try await withThrowingTaskGroup(of: Int.self) { group in
            for event in events.shuffled() + events.shuffled() { group.addTask { try await send(event).status } }
            for try await status in group { #expect(status == 200) }
        }
        let subscription = try await subscription(of: user)
        #expect(subscription["status"] == "grace" && subscription.flag("in_grace") == true && subscription.flag("will_renew") == true)
        _ = try await send(try body("CANCELLATION", user, at: now - 5, until: now - 5, ["cancel_reason": "CUSTOMER_SUPPORT"]))
        #expect(try await self.subscription(of: user)["status"] == "refunded")
    }

    @Test("bodies that make no sense are stored as they are, ignored, and answered 200")
    func nonsense() async throws {
        let id = UUID().uuidString
        let bodies: [[UInt8]] = [
            [], [0xFF, 0xFE], Array("not json".utf8), Array(repeating: UInt8(ascii: "["), count: 262_144),
            try body("SOMETHING_NEW", newUser(), id: id), try body("RENEWAL", newUser(), at: 78_789_789_798_798, id: id + "-4466"),
        ]
        for body in bodies {
            let answer = try await send(body)
            #expect(answer.status == 200, "\(answer.text)")
        }
        let stored = try await stored(id) + stored(id + "-4466")
        #expect(stored.map { $0["status"] } == ["ignored", "ignored"] && !stored.contains { $0["ignored_reason"] == nil })
        #expect(try await send(Array(repeating: 0, count: 262_145)).status == 413)
    }

    @Test("without credentials the route answers 503; another sender's events are stored, not folded, beside RevenueCat's")
    func otherSenders() async throws {
        let stage = try await Stage.shared()
        let closed = try await Browser(port: stage.gateway.port).send("POST", Self.path, body: Array("{}".utf8))
        #expect(closed.status == 503 && closed.headers["retry-after"] != nil)
        let id = "evt_\(UUID().uuidString)"
        let object = #"{"mode":"subscription","client_reference_id":"\#(newUser())","customer":"cus_1"}"#
        let body = Array(
            #"{"id":"\#(id)","type":"checkout.session.completed","created":\#(now / 1000),"livemode":true,"data":{"object":\#(object)}}"#
                .utf8)
        let gateway = try await Self.ground.value
        let answer = try await Browser(port: gateway.port).send(
            "POST", "/functions/v1/webhook-stripe", body: body, headers: ["Stripe-Signature": signature(body, secret: "whsec_test")])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try await stored(id).first?["ignored_reason"] == "another sender is responsible for this store's events")
        for name in ["appstore", "play"] {
            let answer = try await Browser(port: gateway.port).send("POST", "/functions/v1/webhook-\(name)", body: body)
            #expect(answer.status == 503)
        }
    }
}
