import CoachCore
import Foundation
import JSON
import PostgresClient

extension BillingInbox {
    /// The version of `EntitlementFold`. Increment it when the fold gives other results for the same events: then `EntitlementRefolding`
    /// computes the stored ones again.
    private static let foldVersion = 12

    /// Events that are folded and stored in one transaction. Measured (`deploy/bench --only webhooks`): with two groups of 16 at the same time, a
    /// turn has less of the processors, and events wait longer.
    private static let largestFold = 32

    /// The version of stored results, which also depend on whether purchases in the sandbox give access.
    static func version(includingSandbox: Bool) -> Int { foldVersion * 2 + (includingSandbox ? 1 : 0) }

    /// The inbox in PostgreSQL.
    /// - Parameters:
    ///   - intake: the connections on which deliveries are stored; nil: those of `client`.
    ///   - includingSandbox: whether purchases in the stores' sandbox give access; for development only.
    public static func postgres(client: PostgresClient, intake: PostgresClient? = nil, includingSandbox: Bool) -> BillingInbox {
        let intake = intake ?? client
        // Of many events of one subscriber that come at once, each would be folded anew after each that is stored.
        let subscribers = KeyedQueue<SubscriberID?>()
        let folds = GroupedWork<PostgresClient.EventDelivery, BillingReceipt?>(largestGroup: largestFold) { deliveries in
            try await intake.receiptsTogether(of: deliveries, includingSandbox: includingSandbox)
        }
        return BillingInbox(
            store: { delivery in
                try await StoreFault.translating {
                    switch delivery.effect {
                    case .none(let reason): try await intake.ignore(delivery, reason: reason)
                    case .lookUp(let job): try await intake.queue(delivery, job)
                    case .event(let event):
                        try await subscribers.run(event.subject.first) {
                            if let receipt = try await folds.value((delivery, event)) { return receipt }
                            return try await intake.receipt(of: (delivery, event), includingSandbox: includingSandbox)
                        }
                    }
                }
            },
            subscription: { caller in
                let query = Claims.gateway(for: caller, calling: "gateway.subscription(\(caller.userID.uuid))")
                let text = try await StoreFault.translating {
                    try await client.query(query, affinity: caller.userID.affinity) { rows in
                        try rows.only { row in try row.value(0, as: String?.self) }
                    }
                }
                guard let text else { return .none }
                guard let json = try? JSONValue(parsing: Array(text.utf8)), let timeline = EntitlementTimeline(json: json) else {
                    throw StoreFault.unexpected("the database holds an unreadable timeline")
                }
                return timeline
            },
            expiring: { within, cursor, limit in try await client.expiringUsers(within: within, cursor: cursor, limit: limit) })
    }
}

extension PostgresClient {
    fileprivate func ignore(_ delivery: BillingDelivery, reason: String) async throws -> BillingReceipt {
        try await receipt(
            of: """
                gateway.ignore_billing_event(
                    \(delivery.source.rawValue), \(delivery.id), \(delivery.type), \(delivery.environment.rawValue), \(delivery.body),
                    \(reason), \(delivery.names.map(\.text)), \(StoredJSON.encode(StoredJobs(delivery.followUp)))::jsonb)
                """)
    }

    fileprivate func queue(_ delivery: BillingDelivery, _ job: NewJob) async throws -> BillingReceipt {
        try await receipt(
            of: """
                gateway.queue_billing_event(
                    \(delivery.source.rawValue), \(delivery.id), \(delivery.type), \(delivery.environment.rawValue), \(delivery.body),
                    \(StoredJSON.encode(StoredJobs([job])))::jsonb)
                """)
    }

    private func receipt(of call: Query) async throws -> BillingReceipt {
        var query: Query = "select "
        query.append(call)
        let isNew: Bool = try await self.query(query) { rows in try rows.only { row in try row.value(0) } }
        return isNew ? .stored : .known
    }
}
