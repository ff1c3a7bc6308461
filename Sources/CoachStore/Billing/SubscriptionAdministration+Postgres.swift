import CoachCore
import Foundation
import JSON
import PostgresClient

extension SubscriptionAdministration {
    /// Subscriptions in PostgreSQL, through functions that check the caller's role. `includingSandbox` as for `BillingInbox`.
    public static func postgres(client: PostgresClient, includingSandbox: Bool) -> SubscriptionAdministration {
        SubscriptionAdministration(
            change: { caller, userID, edit in
                let event = BillingEvent(
                    source: .operator, id: UUID.random().canonicalText, occurredAt: edit.at, subject: [SubscriberID(userID)],
                    change: edit.action.change)
                let delivery = BillingDelivery(
                    source: .operator, id: event.id, type: edit.action.name, environment: .production, body: [], effect: .event(event))
                return try await client.asOperator {
                    // Reads the stored events without the operator's claims, because they are not bound to a user.
                    guard let folded = try await client.foldedLast(event, includingSandbox: includingSandbox) else { return nil }
                    let version = BillingInbox.version(includingSandbox: includingSandbox)
                    var call: Query = "select operator.change_subscription(\(userID), \(edit.reason), \(edit.requestID), "
                    call.append(FoldedDeliveries([(delivery, folded)], version: version).arguments)
                    call.append(")")
                    let exists: Bool = try await client.batch(
                        [Claims.gateway(for: caller), call], affinity: caller.userID.affinity
                    ) { rows in try rows.only { row in try row.value(0) } }
                    return exists ? folded.timeline(of: userID) : nil
                }
            })
    }
}

extension PostgresClient {
    /// In milliseconds. Clocks do not differ by more; a sender's event that is further in the future is not waited for.
    private static let longestDifference: Int64 = 24 * 60 * 60 * 1000

    /// Folds an operator's change after all events that are known. The clock of this instance can be behind that of a sender or of another instance, and a
    /// revocation before the purchase or grant that it ends would have no effect.
    fileprivate func foldedLast(_ event: BillingEvent, includingSandbox: Bool) async throws -> FoldedEvent? {
        let folded = try await self.folded([event], includingSandbox: includingSandbox)[0]
        let latest = event.occurredAt.advanced(by: Self.longestDifference)
        guard let instant = folded?.instantAfterLater, instant <= latest else { return folded }
        let later = BillingEvent(
            source: event.source, id: event.id, occurredAt: instant, subject: event.subject, change: event.change)
        return try await self.folded([later], includingSandbox: includingSandbox)[0]
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
