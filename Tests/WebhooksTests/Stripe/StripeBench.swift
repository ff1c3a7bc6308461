import CoachCore
import JSON

@testable import Webhooks

/// What tests of Stripe's events share.
protocol StripeBench {}

extension StripeBench {
    var catalogue: ProductCatalogue { ProductCatalogue(["price_2": ["plus"]]) }
    var user: String { "7f3d6c1e-0b7a-4f7e-9b1a-3c5d2e1f0a9b" }
    /// 2026-01-01, in seconds since 1970.
    static var start: Int64 { 1_767_225_600 }
    /// In seconds.
    static var day: Int64 { 86_400 }

    func instant(_ seconds: Int64) -> BillingInstant? { BillingInstant(milliseconds: seconds * 1000) }

    func parse(
        _ type: String, _ object: JSONValue, id: String = "evt_1", at seconds: Int64 = Self.start, live: Bool = true,
        before: JSONValue = .null
    ) -> IntakeEvent {
        let event: JSONValue = [
            "id": .string(id), "object": "event", "api_version": "2026-10-28", "created": .integer(seconds), "livemode": .bool(live),
            "type": .string(type), "data": ["object": object, "previous_attributes": before],
        ]
        return StripeEvent.parse(event.bytes, catalogue: catalogue)
    }

    func subscription(_ status: String, _ changes: [String: JSONValue] = [:]) -> JSONValue {
        let item: JSONValue = [
            "current_period_start": .integer(Self.start), "current_period_end": .integer(Self.start + 30 * Self.day),
            "price": ["id": "price_2", "product": "prod_1"],
        ]
        var fields: [String: JSONValue] = [
            "id": "sub_1", "object": "subscription", "customer": "cus_1", "status": .string(status), "cancel_at_period_end": false,
            "items": ["data": [item]],
        ]
        fields.merge(changes) { $1 }
        return .object(fields.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
    }

    func event(_ intake: IntakeEvent) -> BillingEvent? {
        if case .event(let event) = intake.outcome { event } else { nil }
    }

    func observation(_ status: String, _ changes: [String: JSONValue] = [:]) -> PurchaseObservation? {
        guard case .observation(let observation) = event(parse("customer.subscription.updated", subscription(status, changes)))?.change
        else { return nil }
        return observation
    }

    func state(_ events: [IntakeEvent], at seconds: Int64) -> EntitlementState? {
        guard let instant = instant(seconds), let user = SubscriberID(user) else { return nil }
        return EntitlementFold(events.compactMap(event)).state(of: user, at: instant)
    }

    func checkout() -> IntakeEvent {
        parse(
            "checkout.session.completed",
            ["mode": "subscription", "client_reference_id": .string(user), "customer": "cus_1", "subscription": "sub_1"], id: "evt_0",
            at: Self.start + 100)
    }

    func invoice(_ amount: Int64, payment: String? = nil, from: Int64 = 30, to: Int64 = 60) -> JSONValue {
        let period: JSONValue = ["start": .integer(Self.start + from * Self.day), "end": .integer(Self.start + to * Self.day)]
        return [
            "customer": "cus_1", "amount_paid": .integer(amount),
            "payments": ["data": .array(payment.map { [["payment": ["type": "payment_intent", "payment_intent": .string($0)]]] } ?? [])],
            "parent": ["subscription_details": ["subscription": "sub_1", "metadata": ["user_id": .string(user)]]],
            "lines": ["data": [["period": period]]],
        ]
    }
}
