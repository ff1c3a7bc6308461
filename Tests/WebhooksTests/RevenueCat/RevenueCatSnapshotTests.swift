import CoachCore
import JSON
import Testing

@testable import Webhooks

@Suite("Snapshots of RevenueCat subscribers")
struct RevenueCatSnapshotTests {
    private let user = SubscriberID("7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b")!

    private func parse(
        _ subscriptions: String, entitlements: String = #"{"pro":{"expires_date":"2026-02-01T00:00:00Z","product_identifier":"monthly"}}"#,
        purchases: String = "{}"
    ) throws(IgnoredReason) -> BillingEvent {
        let body = """
            {"request_date":"2026-01-15T00:00:00Z","request_date_ms":1768435200000,"subscriber":{"original_app_user_id":"stripe:cus_1",\
            "entitlements":\(entitlements),"subscriptions":\(subscriptions),"non_subscriptions":\(purchases),"other_purchases":{}}}
            """
        return try RevenueCatSnapshot.parse(Array(body.utf8), of: user)
    }

    private func subscription(_ changes: String = "") -> String {
        """
        {"monthly":{"expires_date":"2026-02-01T00:00:00Z","purchase_date":"2026-01-01T00:00:00Z","period_type":"normal","store":"app_store",\
        "is_sandbox":false,"unsubscribe_detected_at":null,"billing_issues_detected_at":null,"store_transaction_id":"t-1"\(changes)}}
        """
    }

    private func state(_ event: BillingEvent, on date: String = "2026-01-16T00:00:00Z", sandbox: Bool = false) -> EntitlementState {
        let instant = BillingInstant(milliseconds: Timestamp(rfc3339: date)!.millisecondsSince1970)!
        return EntitlementFold([event]).state(of: user, at: instant, includingSandbox: sandbox)
    }

    @Test("an active subscription gives its entitlements; an id in the form of a store's id is not used as an alias")
    func active() throws {
        let event = try parse(subscription())
        #expect(event.subject == [user] && event.occurredAt.milliseconds == 1_768_435_200_000 && event.source == .revenuecat)
        let state = state(event)
        #expect(state.isActive && state.entitlement == "pro" && state.willRenew && state.store == .appStore)
        #expect(!self.state(event, on: "2026-02-01T00:00:00Z").isActive)
    }

    @Test("cancellation, trial, billing issue, refund, pause, sandbox and base plan are read")
    func variants() throws {
        let date = #""2026-01-10T00:00:00Z""#
        let cancelled = subscription().replacing(#""unsubscribe_detected_at":null"#, with: #""unsubscribe_detected_at":\#(date)"#)
        #expect(state(try parse(cancelled)).status == .cancelled)
        #expect(state(try parse(subscription().replacing("normal", with: "trial"))).status == .trial)
        let issue = subscription(#","grace_period_expires_date":"2026-02-10T00:00:00Z""#)
            .replacing(#""billing_issues_detected_at":null"#, with: #""billing_issues_detected_at":\#(date)"#)
        #expect(state(try parse(issue), on: "2026-02-05T00:00:00Z").status == .grace)
        #expect(state(try parse(subscription(#","refunded_at":\#(date)"#))).status == .refunded)
        let paused = subscription(#","auto_resume_date":"2026-03-01T00:00:00Z""#).replacing("2026-02-01", with: "2026-01-12")
        #expect(state(try parse(paused)).status == .paused)
        let sandbox = try parse(subscription().replacing(#""is_sandbox":false"#, with: #""is_sandbox":true"#))
        #expect(state(sandbox) == .none && state(sandbox, sandbox: true).isActive)
        #expect(state(try parse(subscription(#","product_plan_identifier":"p1m""#))).product == "monthly:p1m")
    }

    @Test("grants without an end and one-time purchases do not expire; consumables give no entitlement")
    func lifetime() throws {
        let grant = subscription().replacing("app_store", with: "promotional").replacing(#""2026-02-01T"#, with: #""2226-02-01T"#)
        let granted = state(try parse(grant), on: "2090-01-01T00:00:00Z")
        #expect(granted.isActive && granted.expiresAt == nil && !granted.willRenew)
        let both = try parse(grant, entitlements: #"{"pro":{"expires_date":"2226-02-01T00:00:00Z","product_identifier":"monthly"}}"#)
        #expect(state(both, on: "2090-01-01T00:00:00Z").isActive, "the entitlement has its product's date")
        let purchase = #"[{"id":"x","is_sandbox":false,"purchase_date":"2026-01-01T00:00:00Z","store":"play_store"}]"#
        let forever = try parse(
            "{}", entitlements: #"{"pro":{"expires_date":null,"product_identifier":"forever"}}"#,
            purchases: #"{"forever":\#(purchase),"coins":\#(purchase)}"#)
        guard case .snapshot(let observations) = forever.change else {
            Issue.record("no snapshot")
            return
        }
        #expect(observations.count == 1 && state(forever, on: "2090-01-01T00:00:00Z").isActive)
    }

    @Test("an entitlement whose product is not listed is not lost, while it runs; one of a listed product is that product's alone")
    func entitlementAlone() throws {
        let granted = try parse("{}")
        #expect(state(granted).isActive && state(granted).entitlement == "pro" && !state(granted).willRenew)
        #expect(!state(granted, on: "2026-02-01T00:00:00Z").isActive)
        #expect(try state(parse("{}", entitlements: #"{"pro":{"expires_date":"2026-01-14T00:00:00Z"}}"#)) == .none)
        // Named with its base plan, and in the sandbox.
        let sandbox = subscription().replacing(#""is_sandbox":false"#, with: #""is_sandbox":true"#)
        #expect(try state(parse(sandbox)) == .none && state(parse(sandbox.replacing(#""monthly""#, with: #""monthly:p1m""#))) == .none)
    }

    @Test("an unreadable date that access depends on is an error", arguments: ["expires_date", "purchase_date"])
    func unreadable(field: String) {
        #expect(throws: IgnoredReason.self) { try parse(subscription().replacing(#""\#(field)":""#, with: #""\#(field)":"4466"#)) }
        #expect(throws: IgnoredReason.self) { try RevenueCatSnapshot.parse(Array("{}".utf8), of: user) }
    }
}
