import CoachCore
import Foundation
import JSON
import PostgresClient

extension SubscriptionAdministration {
    /// Subscriptions in PostgreSQL, through functions that check the caller's role. `includingSandbox` as for `BillingInbox`.
    public static func postgres(client: PostgresClient, includingSandbox: Bool) -> SubscriptionAdministration {
        SubscriptionAdministration(
            figures: { caller, first, last in
                let query: Query = """
                    select \(SubscriptionFigures.columns)
                    from operator.subscriptions(\(first.description)::date, \(last.description)::date)
                    """
                return try await client.operatorQuery(query, for: caller) { rows in
                    try rows.map { row in try SubscriptionFigures(row: row) }
                }
            },
            change: { caller, userID, edit in
                let event = BillingEvent(
                    source: .operator, id: UUID.random().canonicalText, occurredAt: edit.at, subject: [SubscriberID(userID)],
                    change: edit.action.change)
                let delivery = BillingDelivery(
                    source: .operator, id: event.id, type: edit.action.name, environment: .production, body: [], effect: .event(event))
                return try await client.asOperator {
                    // Reads the stored events without the operator's claims, because they are not bound to a user.
                    guard let folded = try await client.folded(event, includingSandbox: includingSandbox) else { return nil }
                    var call: Query = "select operator.change_subscription(\(userID), \(edit.reason), \(edit.requestID), "
                    call.append(folded.arguments(delivery))
                    call.append(")")
                    let exists: Bool = try await client.batch(
                        [Claims.gateway(for: caller), call], affinity: caller.userID.affinity
                    ) { rows in try rows.only { row in try row.value(0) } }
                    return exists ? folded.timeline(of: userID) : nil
                }
            })
    }
}

extension SubscriptionEdit.Action {
    fileprivate var change: BillingChange {
        switch self {
        case .grant(let entitlement, let until): .grant(entitlement: entitlement, until: until)
        case .revocation(let entitlement): .revocation(entitlement: entitlement)
        }
    }

    /// The name of the action in the audit log.
    fileprivate var name: String {
        switch self {
        case .grant: "subscription.grant"
        case .revocation: "subscription.revoke"
        }
    }
}

extension SubscriptionFigures {
    fileprivate static let columns: Query = """
        day - date '1970-01-01', active, trials, new_trials, new_purchases, conversions, renewals, cancellations, churned, trials_lost, refunds, \
        gateway.to_nanodollars(revenue_usd), gateway.to_nanodollars(refunded_usd), unpriced, gateway.to_nanodollars(mrr_usd), mrr_unpriced
        """

    fileprivate init(row: borrowing Row) throws {
        self.init(
            day: CalendarDay(daysSinceEpoch: try row.value(0)), active: try row.value(1), trials: try row.value(2),
            newTrials: try row.value(3),
            newPurchases: try row.value(4), conversions: try row.value(5), renewals: try row.value(6), cancellations: try row.value(7),
            churned: try row.value(8), trialsLost: try row.value(9), refunds: try row.value(10), revenue: Nanodollars(try row.value(11)),
            refunded: Nanodollars(try row.value(12)), unpriced: try row.value(13),
            monthlyRecurring: try row.value(14, as: Int64?.self).map { Nanodollars($0) }, monthlyRecurringUnpriced: try row.value(15))
    }
}
