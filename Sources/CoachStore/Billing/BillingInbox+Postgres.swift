import CoachCore
import Foundation
import JSON
import PostgresClient

extension BillingInbox {
    /// The version of `EntitlementFold`. Increment it when the fold gives other results for the same events: then `EntitlementRefolding`
    /// computes the stored ones again.
    private static let foldVersion = 6

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
        return BillingInbox(
            store: { delivery in
                try await StoreFault.translating {
                    switch delivery.effect {
                    case .none(let reason): try await intake.ignore(delivery, reason: reason)
                    case .lookUp(let job): try await intake.queue(delivery, job)
                    case .event(let event):
                        try await subscribers.run(event.subject.first) {
                            // Repeated when another instance stored an event of the subscriber between reading and writing.
                            try await repeatingContended {
                                try await intake.fold(event, of: delivery, includingSandbox: includingSandbox)
                            }
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
                    \(reason), \(delivery.names.map(\.text)))
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
        guard let folded = try await folded(event, includingSandbox: includingSandbox) else { return .known }
        var delivery = delivery
        if folded.event != event {
            // Nothing of a removed user but what the fold reads.
            delivery.body = folded.event.json.bytes
            delivery.followUp = []
        }
        var call: Query = "gateway.fold_billing_event("
        call.append(folded.arguments(delivery))
        call.append(")")
        return try await receipt(of: call)
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
        let version = BillingInbox.version(includingSandbox: includingSandbox)
        let stored = try await query(
            """
            select known, removed, pseudonyms, subscribers, revisions, state, events
            from gateway.read_subscriber(
                \(event.source.rawValue), \(event.id), \(event.occurredAt.milliseconds), \(ids), \(version))
            """
        ) { rows in try rows.only { row in try StoredSubscriber(row) } }
        guard !stored.isKnown else { return nil }
        let event = stored.pseudonyms.isEmpty ? event : event.renaming(stored.pseudonyms)
        let fold = try await fold(of: stored, and: event)
        return FoldedEvent(
            event: event, version: version, subscribers: stored.subscribers, revisions: stored.revisions, fold: fold,
            states: fold.entitlements(of: fold.subscriberIDs, includingSandbox: includingSandbox))
    }

    /// The stored state and the event, when that equals the fold of all events; else the fold of all.
    private func fold(of stored: StoredSubscriber, and event: BillingEvent) async throws -> EntitlementFold {
        if let events = stored.events { return EntitlementFold(try [BillingEvent](stored: events) + [event]) }
        if let text = stored.state, var fold = try? EntitlementFold(parsing: Array(text.utf8)), fold.append(event) { return fold }
        // An event that is stored between the two readings changes a revision, and then this one is folded anew.
        let events = try await query("select * from gateway.subscriber_events(\(stored.subscribers))") { rows in
            try rows.only { row in try row.value(0, as: String.self) }
        }
        return EntitlementFold(try [BillingEvent](stored: events) + [event])
    }
}

/// A new billing event with the entitlements that follow from it and the stored events of its subscriber.
struct FoldedEvent: Sendable {
    /// With pseudonyms instead of the ids of removed users.
    let event: BillingEvent
    fileprivate let version: Int
    fileprivate let subscribers: [Int64]
    fileprivate let revisions: [Int]
    fileprivate let fold: EntitlementFold
    fileprivate let states: [FoldedEntitlements]

    /// The user's entitlements over time, after the event.
    func timeline(of userID: UserID) -> EntitlementTimeline { states.first { $0.userID == userID }?.timeline ?? .none }

    /// The arguments of `gateway.fold_billing_event`, which stores event and entitlements. The call fails with a serialization failure when
    /// another event of the subscriber was stored since the stored ones were read.
    func arguments(_ delivery: BillingDelivery) -> Query {
        let ids = event.links.joined().map(\.text)
        let figures = BillingFigures(event, price: delivery.price).map { String(decoding: $0.json.bytes, as: UTF8.self) }
        return """
            \(delivery.source.rawValue), \(delivery.id), \(delivery.type), \(delivery.environment.rawValue), \(delivery.body),
            \(String(decoding: event.json.bytes, as: UTF8.self)), \(ids), \(subscribers), \(revisions),
            \(version), \(fold.storedState), \(states.stored)::jsonb,
            \(figures)::jsonb, \(StoredJSON.encode(StoredJobs(delivery.followUp)))::jsonb
            """
    }
}

/// A row of `gateway.read_subscriber`. Its JSON is kept as text, to be parsed in the caller's task and not on the reactor's thread.
private struct StoredSubscriber: Sendable {
    let isKnown: Bool
    /// Of the event's ids that are of removed users: what stands for them.
    let pseudonyms: [SubscriberID: SubscriberID]
    let subscribers: [Int64]
    let revisions: [Int]
    let state: String?
    /// A JSON array; nil when there is a state.
    let events: String?

    init(_ row: borrowing Row) throws {
        isKnown = try row.value(0)
        let names = zip(try row.value(1, as: [String].self), try row.value(2, as: [String].self)).compactMap { id, name in
            SubscriberID(id).flatMap { id in SubscriberID(name).map { (id, $0) } }
        }
        pseudonyms = Dictionary(names) { first, _ in first }
        subscribers = try row.value(3)
        revisions = try row.value(4)
        state = try row.value(5)
        events = try row.value(6)
    }
}

extension [BillingEvent] {
    /// The events of a JSON array, `gateway.subscriber_events`. Throws `StoreFault` when one cannot be read.
    init(stored text: String) throws {
        do {
            self = try [BillingEvent](parsing: Array<UInt8>(text.utf8))
        } catch {
            throw StoreFault.unexpected("the database holds an unreadable billing event")
        }
    }
}
