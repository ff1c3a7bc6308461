import CoachCore
import PostgresClient

extension PostgresClient {
    typealias EventDelivery = (delivery: BillingDelivery, event: BillingEvent)

    /// Stores events with their effects in one transaction. nil for each when they cannot be stored together, because one is invalid or takes too
    /// long, two have a subscriber in common, or another transaction changed or holds a subscriber: then each is to be stored by itself.
    func receiptsTogether(of deliveries: [EventDelivery], includingSandbox: Bool) async throws -> [BillingReceipt?] {
        do {
            return try await fold(deliveries, includingSandbox: includingSandbox, waitsForLocks: false)
        } catch {
            let cause = error as? PostgresError
            // Without the database one alone would not be stored either.
            let isAway = cause.map { [.unavailable, .poolExhausted].contains($0.kind) } ?? false
            guard !isAway, deliveries.count > 1 || cause?.isContention == true else { throw error }
            return deliveries.map { _ in nil }
        }
    }

    /// Stores an event with its effects by itself. Repeated when another instance stored an event of the subscriber between reading and writing.
    func receipt(of delivery: EventDelivery, includingSandbox: Bool) async throws -> BillingReceipt {
        try await repeatingContended { try await fold([delivery], includingSandbox: includingSandbox, waitsForLocks: true)[0] }
    }

    /// `waitsForLocks`: whether to wait for the row of a subscriber that another transaction has locked until the role's `lock_timeout`. Otherwise the
    /// wait ends after 50 ms, because other events are stored only after this call.
    private func fold(_ deliveries: [EventDelivery], includingSandbox: Bool, waitsForLocks: Bool) async throws -> [BillingReceipt] {
        let folded = try await self.folded(deliveries.map(\.event), includingSandbox: includingSandbox)
        let new = zip(deliveries, folded).compactMap { item, folded -> (BillingDelivery, FoldedEvent)? in
            guard let folded else { return nil }
            return (item.delivery.stored(as: folded), folded)
        }
        if !new.isEmpty {
            var query: Query = "select "
            if !waitsForLocks { query.append("set_config('lock_timeout', '50ms', true), ") }
            query.append("gateway.fold_billing_events(")
            query.append(FoldedDeliveries(new, version: BillingInbox.version(includingSandbox: includingSandbox)).arguments)
            query.append(")")
            try await execute(query)
        }
        return folded.map { $0 == nil ? .known : .stored }
    }

    /// Computes the entitlements of each event's subscriber from it and the stored ones; nil for an event that is already stored. Throws
    /// `PostgresError`, or `StoreFault` when a stored event cannot be read.
    func folded(_ events: [BillingEvent], includingSandbox: Bool) async throws -> [FoldedEvent?] {
        let links = events.map { $0.links.joined().map(\.text) }
        let places = links.enumerated().flatMap { place, ids in ids.map { _ in place + 1 } }
        let stored = try await query(
            """
            select known, removed, pseudonyms, subscribers, revisions, state, events, gateway.have_pseudonym(subscribers)
            from gateway.read_subscribers(
                \(events.map(\.source.rawValue)), \(events.map(\.id)), \(events.map(\.occurredAt.milliseconds)), \(links.flatMap { $0 }),
                \(places), \(BillingInbox.version(includingSandbox: includingSandbox)))
            """
        ) { rows in try rows.map { row in try StoredSubscriber(row) } }
        var folded: [FoldedEvent?] = []
        for (event, subscriber) in zip(events, stored) {
            if subscriber.isKnown {
                folded.append(nil)
            } else {
                let event = subscriber.pseudonyms.isEmpty ? event : event.renaming(subscriber.pseudonyms)
                let fold = try await fold(of: subscriber, and: event)
                folded.append(FoldedEvent(event, of: subscriber, fold: fold, includingSandbox: includingSandbox))
            }
        }
        return folded
    }

    /// The stored state and the event, when that equals the fold of all events; else the fold of all.
    private func fold(of stored: StoredSubscriber, and event: BillingEvent) async throws -> EntitlementFold {
        if let events = stored.events { return EntitlementFold(try [BillingEvent](stored: events) + [event]) }
        if let text = stored.state, var fold = try? EntitlementFold(parsing: Array(text.utf8)), fold.append(event) { return fold }
        // An event that is stored between the two readings changes a revision, and then this one is folded anew.
        let events = try await query("select * from gateway.subscriber_events(\(stored.ids))") { rows in
            try rows.only { row in try row.value(0, as: String.self) }
        }
        return EntitlementFold(try [BillingEvent](stored: events) + [event])
    }
}

extension BillingDelivery {
    /// In bytes, as `gateway.billing_events` has it. No webhook is longer; a store's answer about hundreds of purchases can be.
    private static let longestBody = 256 * 1024

    fileprivate func stored(as folded: FoldedEvent) -> BillingDelivery {
        var stored = self
        if folded.isOfRemovedUser {
            // Nothing but what the fold reads.
            stored.body = folded.event.json.bytes
            stored.followUp = []
        }
        if stored.body.count > Self.longestBody { stored.body = [] }
        return stored
    }
}

/// A row of `gateway.read_subscribers`. Its JSON is kept as text, to be parsed in the caller's task and not on the reactor's thread.
struct StoredSubscriber: Sendable {
    fileprivate let isKnown: Bool
    /// The pseudonyms of those of the event's ids that are of removed users.
    fileprivate let pseudonyms: [SubscriberID: SubscriberID]
    /// The ids of the subscribers that the event's ids connect, with their revisions.
    let ids: [Int64]
    let revisions: [Int]
    fileprivate let state: String?
    /// A JSON array; nil when there is a state.
    fileprivate let events: String?
    /// One of the subscribers is a removed user.
    private let havePseudonym: Bool

    fileprivate init(_ row: borrowing Row) throws {
        isKnown = try row.value(0)
        let names = zip(try row.value(1, as: [String].self), try row.value(2, as: [String].self)).compactMap { id, name in
            SubscriberID(id).flatMap { id in SubscriberID(name).map { (id, $0) } }
        }
        pseudonyms = Dictionary(names) { first, _ in first }
        ids = try row.value(3)
        revisions = try row.value(4)
        state = try row.value(5)
        events = try row.value(6)
        havePseudonym = try row.value(7)
    }

    /// Whether the event is of a removed user: it names them, or a customer of theirs and no other user.
    func isRemoved(by event: BillingEvent) -> Bool {
        !pseudonyms.isEmpty || havePseudonym && event.links.joined().allSatisfy { $0.userID == nil }
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
