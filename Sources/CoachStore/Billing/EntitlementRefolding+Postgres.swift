import CoachCore
import PostgresClient

extension EntitlementRefolding {
    private static let pageSize = 200

    /// Entitlements in PostgreSQL. `includingSandbox` as for `BillingInbox`.
    public static func postgres(client: PostgresClient, includingSandbox: Bool) -> EntitlementRefolding {
        let version = BillingInbox.version(includingSandbox: includingSandbox)
        return EntitlementRefolding(version: version) { last in
            try await StoreFault.translating {
                let query: Query = """
                    select version, subscriber from gateway.outdated_subscribers_2(
                        \(version)::integer, \(last.version)::integer, \(last.subscriber), \(pageSize)::integer)
                    """
                let places = try await client.query(query) { rows in
                    try rows.map { row in Place(version: try row.value(0), subscriber: try row.value(1)) }
                }
                var unreadable = 0
                for place in places {
                    try Task.checkCancellation()
                    if try await !client.refold(place.subscriber, version: version, includingSandbox: includingSandbox) { unreadable += 1 }
                }
                return (places.last, unreadable)
            }
        }
    }
}

extension PostgresClient {
    /// Returns whether the subscriber's events can be read. Without effect when another event is stored meanwhile: then its fold writes the results.
    fileprivate func refold(_ subscriber: Int64, version: Int, includingSandbox: Bool) async throws -> Bool {
        let stored = try await query("select revision, events from gateway.stored_subscriber(\(subscriber))") { rows in
            try rows.map { row in (revision: try row.value(0, as: Int.self), events: try row.value(1, as: String.self)) }
        }
        guard let stored = stored.first else { return true }
        guard let events = try? [BillingEvent](stored: stored.events) else { return false }
        let fold = EntitlementFold(events)
        let states = fold.entitlements(of: fold.subscriberIDs, includingSandbox: includingSandbox)
        try await execute(
            """
            select gateway.refold_subscriber(
                \(subscriber), \(stored.revision)::integer, \(version)::integer, \(fold.storedState), \(states.stored)::jsonb)
            """)
        return true
    }
}
