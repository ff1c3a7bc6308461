import CoachCore
import Foundation
import JSON
import PostgresClient

extension BillingInbox {
    /// The version of `EntitlementFold`. Increment it when the fold gives other results for the same events: then stored results of an
    /// older version must be computed again.
    static let foldVersion = 2

    /// The inbox in PostgreSQL.
    /// - Parameter includingSandbox: whether purchases in the stores' sandbox give access; for development only.
    public static func postgres(client: PostgresClient, includingSandbox: Bool) -> BillingInbox {
        BillingInbox(
            store: { delivery in
                try await StoreFault.translating {
                    switch delivery.effect {
                    case .none(let reason): try await client.ignore(delivery, reason: reason)
                    case .lookUp(let job): try await client.queue(delivery, job)
                    case .event(let event):
                        // Repeated when another event of the subscriber was stored between reading and writing.
                        try await repeatingContended {
                            try await client.fold(event, of: delivery, includingSandbox: includingSandbox)
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
            expiring: { after, limit in
                try await StoreFault.translating {
                    let query: Query = "select * from gateway.expiring_users(\(after?.uuid), \(limit)::integer)"
                    return try await client.query(query) { rows in
                        try rows.map { row in UserID(try row.value(0, as: UUID.self)) }
                    }
                }
            })
    }
}

extension PostgresClient {
    fileprivate func ignore(_ delivery: BillingDelivery, reason: String) async throws -> BillingReceipt {
        try await receipt(
            of: """
                gateway.ignore_billing_event(
                    \(delivery.source.rawValue), \(delivery.id), \(delivery.type), \(delivery.environment.rawValue), \(delivery.body),
                    \(reason))
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

    fileprivate func fold(_ event: BillingEvent, of delivery: BillingDelivery, includingSandbox: Bool) async throws -> BillingReceipt {
        var (event, delivery) = (event, delivery)
        let pseudonyms = try await pseudonyms(of: event)
        if !pseudonyms.isEmpty {
            event = event.renaming(pseudonyms)
            // Nothing of a removed user but what the fold reads.
            delivery.body = event.json.bytes
            delivery.followUp = []
        }
        guard let folded = try await folded(event, includingSandbox: includingSandbox) else { return .known }
        var call: Query = "gateway.fold_billing_event("
        call.append(folded.arguments(delivery))
        call.append(")")
        return try await receipt(of: call)
    }

    /// The ids of the event that are of removed users, with what stands for them.
    private func pseudonyms(of event: BillingEvent) async throws -> [SubscriberID: SubscriberID] {
        let query: Query = "select removed, pseudonyms from gateway.removed_subscriber_ids(\(event.links.joined().map(\.text)))"
        let (removed, names) = try await self.query(query) { rows in
            try rows.only { row in (try row.value(0, as: [String].self), try row.value(1, as: [String].self)) }
        }
        let pairs = zip(removed, names).compactMap { id, name in
            SubscriberID(id).flatMap { id in SubscriberID(name).map { (id, $0) } }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private func receipt(of call: Query) async throws -> BillingReceipt {
        var query: Query = "select "
        query.append(call)
        let isNew: Bool = try await self.query(query) { rows in try rows.only { row in try row.value(0) } }
        return isNew ? .stored : .known
    }

    /// Computes the entitlements of a subscriber from a new event and the stored ones; nil when the event is already stored. Throws
    /// `PostgresError`.
    func folded(_ event: BillingEvent, includingSandbox: Bool) async throws -> FoldedEvent? {
        let ids = event.links.joined().map(\.text)
        let known = try await query(
            """
            select known, subscribers, revisions, subscriber_ids, events
            from gateway.read_subscriber(\(event.source.rawValue), \(event.id), \(ids))
            """
        ) { rows in try rows.only { row in try StoredSubscriber(row) } }
        guard !known.isKnown else { return nil }
        let fold = EntitlementFold(try known.billingEvents() + [event])
        let allIDs = Set(known.ids + ids).compactMap { SubscriberID($0) }
        return FoldedEvent(
            event: event, ids: ids, subscribers: known.subscribers, revisions: known.revisions,
            states: fold.entitlements(of: allIDs, includingSandbox: includingSandbox))
    }
}

/// A new billing event with the entitlements that follow from it and the stored events of its subscriber.
struct FoldedEvent: Sendable {
    let event: BillingEvent
    fileprivate let ids: [String]
    fileprivate let subscribers: [Int64]
    fileprivate let revisions: [Int]
    fileprivate let states: [FoldedEntitlements]

    /// The user's entitlements over time, after the event.
    func timeline(of userID: UserID) -> EntitlementTimeline { states.first { $0.userID == userID }?.timeline ?? .none }

    /// The arguments of `gateway.fold_billing_event`, which stores event and entitlements. The call fails with a serialization failure when
    /// another event of the subscriber was stored since the stored ones were read.
    func arguments(_ delivery: BillingDelivery) -> Query {
        let figures = BillingFigures(event, price: delivery.price).map { String(decoding: $0.json.bytes, as: UTF8.self) }
        return """
            \(delivery.source.rawValue), \(delivery.id), \(delivery.type), \(delivery.environment.rawValue), \(delivery.body),
            \(String(decoding: event.json.bytes, as: UTF8.self)), \(ids), \(subscribers), \(revisions),
            \(BillingInbox.foldVersion), \(String(decoding: JSONValue.array(states.map(\.json)).bytes, as: UTF8.self))::jsonb,
            \(figures)::jsonb, \(StoredJSON.encode(StoredJobs(delivery.followUp)))::jsonb
            """
    }
}

/// A row of `gateway.read_subscriber`. Its events are kept as text, to be parsed in the caller's task and not on the reactor's thread.
private struct StoredSubscriber: Sendable {
    let isKnown: Bool
    let subscribers: [Int64]
    let revisions: [Int]
    let ids: [String]
    private let events: [String]

    init(_ row: borrowing Row) throws {
        isKnown = try row.value(0)
        subscribers = try row.value(1)
        revisions = try row.value(2)
        ids = try row.value(3)
        events = try row.value(4)
    }

    func billingEvents() throws -> [BillingEvent] {
        try events.map { text in
            guard let json = try? JSONValue(parsing: Array(text.utf8)), let event = BillingEvent(json: json) else {
                throw StoreFault.unexpected("the database holds an unreadable billing event")
            }
            return event
        }
    }
}
