import CoachCore
import JSON
import PostgresClient

extension BillingInbox {
    /// Incremented when the fold gives other results for the same events; subscribers of an older version are to be folded anew.
    static let foldVersion = 1

    /// The inbox in PostgreSQL. `includingSandbox`: whether purchases of the sandbox give access, for development only.
    public static func postgres(client: PostgresClient, includingSandbox: Bool) -> BillingInbox {
        BillingInbox(
            store: { delivery in
                try await StoreFault.translating {
                    switch delivery.effect {
                    case .none(let reason): try await client.ignore(delivery, reason: reason)
                    case .event(let event):
                        // Another event of the subscriber may be stored between the reading and the writing.
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
            })
    }
}

extension PostgresClient {
    fileprivate func ignore(_ delivery: BillingDelivery, reason: String) async throws -> BillingReceipt {
        let isNew: Bool = try await query(
            """
            select gateway.ignore_billing_event(
                \(delivery.source.rawValue), \(delivery.id), \(delivery.type), \(delivery.environment.rawValue), \(delivery.body), \(reason))
            """
        ) { rows in try rows.only { row in try row.value(0) } }
        return isNew ? .stored : .known
    }

    fileprivate func fold(_ event: BillingEvent, of delivery: BillingDelivery, includingSandbox: Bool) async throws -> BillingReceipt {
        let ids = event.links.joined().map(\.text)
        let known = try await query(
            """
            select known, subscribers, revisions, subscriber_ids, events
            from gateway.read_subscriber(\(delivery.source.rawValue), \(delivery.id), \(ids))
            """
        ) { rows in try rows.only { row in try StoredSubscriber(row) } }
        guard !known.isKnown else { return .known }
        let fold = EntitlementFold(try known.billingEvents() + [event])
        let allIDs = Set(known.ids + ids).compactMap { SubscriberID($0) }
        let states = fold.entitlements(of: allIDs, includingSandbox: includingSandbox)
        let isNew: Bool = try await query(
            """
            select gateway.fold_billing_event(
                \(delivery.source.rawValue), \(delivery.id), \(delivery.type), \(delivery.environment.rawValue), \(delivery.body),
                \(String(decoding: event.json.bytes, as: UTF8.self)), \(ids), \(known.subscribers), \(known.revisions),
                \(BillingInbox.foldVersion), \(String(decoding: JSONValue.array(states.map(\.json)).bytes, as: UTF8.self))::jsonb)
            """
        ) { rows in try rows.only { row in try row.value(0) } }
        return isNew ? .stored : .known
    }
}

/// A row of `gateway.read_subscriber`. Its events are parsed by the caller's task and not on the reactor's thread.
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

extension FoldedEntitlements {
    /// An element of the argument `states` of `gateway.fold_billing_event`.
    fileprivate var json: JSONValue {
        let until = accessUntil.sorted { $0.key < $1.key }.map { name, expiry in
            JSONMember(name, expiry.instant.map { .integer($0.milliseconds) } ?? "never")
        }
        return [
            "user_id": .string(userID.description), "timeline": .string(String(decoding: timeline.json.bytes, as: UTF8.self)),
            "entitlements": .object(until),
        ]
    }
}
