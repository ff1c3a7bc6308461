import CoachCore
import JSON
import PostgresClient

/// A new billing event with the entitlements that follow from it and the stored events of its subscriber.
struct FoldedEvent: Sendable {
    /// With pseudonyms instead of the ids of removed users.
    let event: BillingEvent
    private let subscriber: StoredSubscriber
    private let fold: EntitlementFold
    fileprivate let states: [FoldedEntitlements]

    init(_ event: BillingEvent, of subscriber: StoredSubscriber, fold: EntitlementFold, includingSandbox: Bool) {
        self.event = event
        self.subscriber = subscriber
        self.fold = fold
        states = fold.entitlements(of: fold.subscriberIDs, includingSandbox: includingSandbox)
    }

    /// Whether only the data that the fold reads may be stored of the delivery.
    var isOfRemovedUser: Bool { subscriber.isRemoved(by: event) }

    /// The user's entitlements over time, after the event.
    func timeline(of userID: UserID) -> EntitlementTimeline { states.first { $0.userID == userID }?.timeline ?? .none }

    /// The instant after all events of the subscriber, when one of them is later than this one.
    var instantAfterLater: BillingInstant? { fold.instantAfterLast(otherThan: event) }

    /// Writes the event as `gateway.folded_event`. Its body begins at `start`, counted from 1.
    fileprivate func write(_ delivery: BillingDelivery, bodyStart start: Int, to json: inout JSONWriter) {
        json.object { json in
            json.member("source", delivery.source.rawValue)
            json.member("event_id", delivery.id)
            json.member("type", delivery.type)
            json.member("environment", delivery.environment.rawValue)
            json.key("event")
            json.string(utf8: event.json.bytes)
            json.member("occurred_at", event.occurredAt.milliseconds)
            json.member("body_start", start)
            json.member("body_bytes", delivery.body.count)
            json.key("ids")
            json.array { json in for id in event.links.joined() { json.string(id.text) } }
            json.key("subscribers")
            json.array { json in for id in subscriber.ids { json.integer(id) } }
            json.key("revisions")
            json.array { json in for revision in subscriber.revisions { json.integer(revision) } }
            json.member("state", fold.storedState)
            json.key("figures")
            if let figures = BillingFigures(event, price: delivery.price) { figures.json.write(to: &json) } else { json.null() }
        }
    }
}

/// Deliveries with their folded events, which `gateway.fold_billing_events` stores: all or none.
struct FoldedDeliveries {
    private let items: [(delivery: BillingDelivery, folded: FoldedEvent)]
    private let version: Int

    /// - Parameter version: of the fold.
    init(_ items: [(delivery: BillingDelivery, folded: FoldedEvent)], version: Int) {
        self.items = items
        self.version = version
    }

    /// The arguments of the function. The call fails with a serialization failure when another event of a subscriber was stored since the stored
    /// ones were read.
    var arguments: Query {
        let events = JSONWriter.encode { json in
            json.array { json in
                var start = 1
                for (delivery, folded) in items {
                    folded.write(delivery, bodyStart: start, to: &json)
                    start += delivery.body.count
                }
            }
        }
        return """
            \(String(decoding: events, as: UTF8.self))::json, \(items.flatMap(\.delivery.body)), \(version)::integer,
            \(items.flatMap(\.folded.states).stored)::jsonb, \(StoredJSON.encode(StoredJobs(items.flatMap(\.delivery.followUp))))::jsonb
            """
    }
}
