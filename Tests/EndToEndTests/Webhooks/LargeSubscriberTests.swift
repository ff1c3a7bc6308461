import Foundation
import Testing

/// Each of these events is milliseconds of work by itself, and seconds when it compares all ids with all ids.
@Suite("Subscribers with thousands of ids", .paced)
struct LargeSubscriberTests {
    private let webhooks = HostileWebhookTests()

    private func renewal(_ more: [String: Any]) throws -> [UInt8] { Array(try webhooks.revenueCat("RENEWAL", more).utf8) }

    @Test("one with 8,000 aliases, one with 5,000 users, and 5,000 that an event merges are stored at the first delivery")
    func thousands() async throws {
        let gateway = try await WebhookGateway.revenueCat.value
        let database = try await TestBed.shared().database
        func expectStored(_ bodies: [UInt8]...) async throws {
            try await webhooks.expectStored(bodies, of: "revenuecat", width: 1) { try await gateway.send($0) }
        }
        let aliases = (0..<8_000).map { "a\($0)" }
        // Each a user's, whose entitlements change twice.
        let users = (0..<5_000).map { _ in WebhookGateway.newUser() }
        try await expectStored(
            renewal(["aliases": aliases]), renewal(["aliases": users, "product_id": "one"]),
            renewal(["aliases": users, "product_id": "two"]))
        // Where nearly every subscriber has one id, PostgreSQL plans for one.
        try await database.fresh.psql(
            """
            with others as (
                insert into gateway.subscribers (revision, fold_version)
                select 0, (select max(fold_version) from gateway.subscribers) from generate_series(1, 50000) returning id)
            insert into gateway.subscriber_ids select 'other ' || id, id from others;
            analyze gateway.subscriber_ids
            """)
        let rows = try await database.rows("select id from gateway.subscriber_ids where id like 'other %' limit 5000")
        let others = rows.compactMap { $0["id"] }
        try await expectStored(renewal(["aliases": aliases]), renewal(["aliases": others]))
        let merged = try await database.row(
            """
            select count(distinct subscriber) as subscribers, count(*) as ids from gateway.subscriber_ids
            where id = any ('{\(others.joined(separator: ","))}')
            """)
        #expect(merged.number("subscribers") == 1 && merged.number("ids") == 5_000)
    }
}
