import CoachCore

/// Parses Stripe's snapshot events. Events that have no effect are ignored with a reason. <https://docs.stripe.com/api/events/types>
///
/// A refund or dispute names a payment. `invoice_payment.paid` names the invoice of a payment, and so its subscription: since 2025-03-31 invoices
/// do not name their payments. `charge.succeeded` names the customer of a payment.
public enum StripeEvent {
    /// - Parameter catalogue: entitlements of Stripe's product and price ids.
    public static func parse(_ body: [UInt8], catalogue: ProductCatalogue) -> IntakeEvent {
        IntakeEvent(.stripe, body) { (draft: inout IntakeDraft) throws(IgnoredReason) in
            let event = try EventFields(body: body)
            let id = try event.eventID("id")
            draft.id = id
            let type = try event.required("type", event.text("type"))
            draft.type = type
            draft.environment = try event.bool("livemode") == false ? .sandbox : .production
            // A thin event carries no state.
            if try event.string("object") == "v2.core.event" { throw .informational }
            draft.price = try event.object("data")?.object("object").flatMap { price($0, type: type) }
            return .event(try billingEvent(event, id: id, type: type, draft.environment, catalogue))
        }
    }

    private static func price(_ object: EventFields, type: String) -> Nanodollars? {
        switch type {
        case "invoice.paid": object.dollars("amount_paid", decimals: 2, currency: "currency")
        case "charge.refunded": object.dollars("amount_refunded", decimals: 2, currency: "currency").map { Nanodollars(-$0.raw) }
        case "charge.dispute.closed": object.dollars("amount", decimals: 2, currency: "currency").map { Nanodollars(-$0.raw) }
        default: nil
        }
    }

    private static func billingEvent(
        _ event: EventFields, id: String, type: String, _ environment: BillingEnvironment, _ catalogue: ProductCatalogue
    ) throws(IgnoredReason) -> BillingEvent {
        let kind: StripeObject.Kind =
            switch type {
            case "checkout.session.completed": .checkout
            case "customer.subscription.created", "customer.subscription.updated", "customer.subscription.deleted",
                "customer.subscription.paused", "customer.subscription.resumed":
                .subscription
            case "invoice.paid", "invoice.payment_failed": .invoice
            case "invoice_payment.paid": .invoicePayment
            case "charge.succeeded": .succeededCharge
            case "charge.refunded": .refundedCharge
            case "charge.dispute.closed": .dispute
            case "charge.dispute.created": throw .informational
            default: throw .unknownType
            }
        let occurredAt = try event.required("created", event.instant(seconds: "created"))
        let data = try event.required("data", event.object("data"))
        let fields = try data.required("object", data.object("object"))
        let object = StripeObject(fields, environment: environment, catalogue: catalogue)
        let sequence = try sequence(of: type, fields, before: data.object("previous_attributes"))
        return BillingEvent(
            source: .stripe, id: id, occurredAt: occurredAt, subject: try object.subject(kind),
            change: try object.change(kind, type: type), sequence: sequence)
    }

    /// The place of an event among those of the same second: `created` has whole seconds only, and `updated` can arrive before `created`. An update that
    /// changed the status, to another one than the first (`incomplete`), is later than updates that left the status as it was.
    private static func sequence(of type: String, _ object: EventFields, before: EventFields?) throws(IgnoredReason) -> UInt8 {
        switch type {
        case "customer.subscription.created": return 0
        case "customer.subscription.updated":
            let (former, status) = (try before?.string("status"), try object.string("status"))
            return former != nil && status != "incomplete" ? 2 : 1
        case "customer.subscription.deleted": return 3
        default: return 1
        }
    }
}
