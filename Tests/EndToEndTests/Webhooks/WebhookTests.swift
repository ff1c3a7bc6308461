import Foundation
import Testing

@Suite("Billing webhooks", .paced)
struct WebhookTests {
    private let month = RevenueCatEvents.month
    private let now = RevenueCatEvents.now

    private func body(
        _ type: String, _ user: String, at: Int64? = nil, until: Int64? = nil, id: String = UUID().uuidString, _ more: [String: Any] = [:]
    ) throws -> [UInt8] { try RevenueCatEvents.body(type, user, at: at ?? now, until: until ?? now + month, id: id, more) }

    private func signature(_ body: [UInt8], secret: String = WebhookGateway.secret, at seconds: Int64? = nil) -> String {
        RevenueCatEvents.signature(body, secrets: [secret], at: seconds ?? now / 1000)
    }

    private func send(_ body: [UInt8], headers: [String: String]? = nil) async throws -> Answer {
        try await WebhookGateway.revenueCat.value.send(body, headers: headers)
    }

    private func subscription(of user: String) async throws -> JSONObject {
        try await WebhookGateway.revenueCat.value.subscription(of: user)
    }

    private func newUser() -> String { WebhookGateway.newUser() }

    @Test("a purchase before its user exists becomes the user's subscription, with the id in either case")
    func purchase() async throws {
        let user = newUser()
        let answer = try await send(try body("INITIAL_PURCHASE", user.uppercased()))
        #expect(answer.status == 200 && answer.json.flag("success") == true && answer.json.object("data").names == [])
        let subscription = try await subscription(of: user)
        #expect(
            subscription.names == [
                "active", "status", "entitlement", "is_trial", "expires_at", "will_renew", "in_grace", "store", "management_url",
            ])
        #expect(subscription.flag("active") == true && subscription["status"] == "active" && subscription["entitlement"] == "pro")
        #expect(subscription.flag("will_renew") == true && subscription["store"] == "app_store" && subscription["expires_at"] != nil)
        #expect(subscription["management_url"] == "https://apps.apple.com/account/subscriptions")
        let none = try await self.subscription(of: newUser())
        #expect(none.flag("active") == false && none.isNull("management_url"))
        #expect(none["status"] == "none" && none.isNull("expires_at") && none.isNull("store"))
    }

    @Test("an unverified sender gets 401, and nothing is stored")
    func unverified() async throws {
        let id = UUID().uuidString
        let body = try body("INITIAL_PURCHASE", newUser(), id: id)
        let valid = signature(body)
        let attempts: [[String: String]] = [
            [:], ["Authorization": WebhookGateway.authorization], ["X-RevenueCat-Webhook-Signature": valid],
            ["Authorization": "Bearer wrong", "X-RevenueCat-Webhook-Signature": valid],
            ["Authorization": WebhookGateway.authorization, "X-RevenueCat-Webhook-Signature": signature(body, secret: "other")],
            ["Authorization": WebhookGateway.authorization, "X-RevenueCat-Webhook-Signature": signature(body, at: now / 1000 - 400)],
            ["Authorization": WebhookGateway.authorization, "X-RevenueCat-Webhook-Signature": signature(body, at: now / 1000 + 400)],
            ["Authorization": WebhookGateway.authorization, "X-RevenueCat-Webhook-Signature": signature(body + [0x20])],
        ]
        for headers in attempts {
            let answer = try await send(body, headers: headers)
            #expect(answer.status == 401 && answer.errorCode == "AUTH_1002", "\(headers): \(answer.text)")
        }
        #expect(try await WebhookGateway.stored(id).isEmpty)
        let rotated = [
            "Authorization": WebhookGateway.authorization, "X-RevenueCat-Webhook-Signature": signature(body, secret: "old-secret"),
        ]
        #expect(try await send(body, headers: rotated).status == 200)
        #expect(try await WebhookGateway.stored(id).count == 1)
    }

    @Test("deliveries in any order and number give one subscription")
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

    @Test("meaningless bodies are stored as received, ignored, and answered 200")
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
        let stored = try await WebhookGateway.stored(id) + WebhookGateway.stored(id + "-4466")
        #expect(stored.map { $0["status"] } == ["ignored", "ignored"] && !stored.contains { $0["ignored_reason"] == nil })
        #expect(try await send(Array(repeating: 0, count: 262_145)).status == 413)
    }

    @Test("the route of a sender that is not configured answers 503")
    func otherSenders() async throws {
        for name in ["appstore", "play"] {
            let answer = try await WebhookGateway.revenueCat.value.post(name, Array("{}".utf8))
            #expect(answer.status == 503 && answer.headers["retry-after"] != nil)
        }
    }
}
