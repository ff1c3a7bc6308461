import CoachCore
import Foundation
import PostgresClient

/// Computes stored entitlements again that another version of the fold wrote, or the same one with another setting for the sandbox. Any instance
/// may run it, also several at the same time; results of a later version stay.
public struct EntitlementRefolding: Sendable {
    public static let kind = JobKind(rawValue: "refold_subscribers")
    private static let pageSize = 200

    private let client: PostgresClient
    private let includingSandbox: Bool
    private var version: Int { BillingInbox.version(includingSandbox: includingSandbox) }

    /// `includingSandbox` as for `BillingInbox`.
    public init(client: PostgresClient, includingSandbox: Bool) {
        self.client = client
        self.includingSandbox = includingSandbox
    }

    /// The job that calls `refoldPart`, once an hour: an instance of the former version may still run for a while.
    public func job(at date: Date) -> NewJob {
        NewJob(Self.kind, idempotencyKey: "\(version) \(Int(date.timeIntervalSince1970) / 3600)")
    }

    /// Computes the results of a page of subscribers, in the order of their ids. Returns the last of them, nil when none was left, and how many have
    /// an event that cannot be read: their results stay as they are. Throws `StoreFault` or `CancellationError`.
    public func refoldPart(after last: Int64) async throws -> (last: Int64?, unreadable: Int) {
        try await StoreFault.translating {
            let query: Query = "select * from gateway.outdated_subscribers(\(version)::integer, \(last), \(Self.pageSize)::integer)"
            let subscribers = try await client.query(query) { rows in try rows.map { row in try row.value(0, as: Int64.self) } }
            var unreadable = 0
            for subscriber in subscribers {
                try Task.checkCancellation()
                if try await !refold(subscriber) { unreadable += 1 }
            }
            return (subscribers.last, unreadable)
        }
    }

    /// Returns whether the events can be read. Without effect when another event is stored meanwhile: then its fold writes the results.
    private func refold(_ subscriber: Int64) async throws -> Bool {
        let stored = try await client.query("select revision, events from gateway.stored_subscriber(\(subscriber))") { rows in
            try rows.map { row in (revision: try row.value(0, as: Int.self), events: try row.value(1, as: String.self)) }
        }
        guard let stored = stored.first else { return true }
        guard let events = try? [BillingEvent](stored: stored.events) else { return false }
        let fold = EntitlementFold(events)
        let states = fold.entitlements(of: fold.subscriberIDs, includingSandbox: includingSandbox)
        try await client.execute(
            """
            select gateway.refold_subscriber(
                \(subscriber), \(stored.revision)::integer, \(version)::integer, \(fold.storedState), \(states.stored)::jsonb)
            """)
        return true
    }
}
