import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Users whose access ends")
struct ExpiringUsersTests {
    private let day = Duration.seconds(86_400)

    private func delivery(_ event: BillingEvent) -> BillingDelivery {
        BillingDelivery(source: event.source, id: event.id, type: nil, environment: .production, body: [], effect: .event(event))
    }

    @Test("users whose access is about to end are found page by page, if RevenueCat knows them")
    func expiring() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let clock = BillingInstant(clamping: Int64(Date().timeIntervalSince1970 * 1000))
        var expected: [UserID] = []
        let hour: Int64 = 3_600_000
        for (offset, source) in [(hour, BillingSource.revenuecat), (-hour, .revenuecat), (72 * hour, .revenuecat), (hour, .stripe)] {
            let user = UserID.random()
            let event = BillingEvent(
                source: source, id: UUID().uuidString, occurredAt: clock.advanced(by: -100 * hour), subject: [SubscriberID(user)],
                change: .purchase(
                    PurchaseReference(environment: .production, store: .appStore, originalTransaction: "\(user)"), .purchased,
                    BillingPeriod(product: "p", entitlements: ["pro"], renews: false, expiry: .at(clock.advanced(by: offset)))))
            _ = try await inbox.store(delivery(event))
            if offset < 72 * hour, source == .revenuecat { expected.append(user) }
        }
        for limit in 1...4 { #expect(try await inbox.allExpiring(within: day, limit: limit) == Set(expected), "pages of \(limit)") }
        #expect(try await inbox.expiring(day, nil, 1).items.count <= 1)
        #expect(try await inbox.allExpiring(within: .seconds(1_800)) == [])
        for cursor in ["", "ending 1", "ending x \(expected[0])", "other"] {
            await #expect(throws: InvalidCursor.self) { try await inbox.expiring(day, cursor, 1) }
        }
    }

    @Test("users whose access an event ended within a day are found too, and not those whose access ended longer ago or at another sender")
    func recentlyEnded() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let clock = BillingInstant(clamping: Int64(Date().timeIntervalSince1970 * 1000))
        let hour: Int64 = 3_600_000
        var expected: [UserID] = []
        let cases: [(ago: Int64, event: PurchaseEvent, source: BillingSource)] = [
            (23, .expired(paused: false), .revenuecat), (2, .refunded, .revenuecat), (72, .expired(paused: false), .revenuecat),
            (2, .expired(paused: false), .stripe), (2, .cancelled, .revenuecat),
        ]
        for (number, ended) in cases.enumerated() {
            let user = UserID.random()
            let alias = try #require(SubscriberID("$RCAnonymousID:\(number)"))
            for (event, ago) in [(PurchaseEvent.purchased, Int64(240)), (ended.event, ended.ago)] {
                let expiry = event == .purchased || event == .cancelled ? 240 * hour : -ended.ago * hour
                let event = BillingEvent(
                    source: ended.source, id: UUID().uuidString, occurredAt: clock.advanced(by: -ago * hour),
                    subject: [SubscriberID(user), alias],
                    change: .purchase(
                        PurchaseReference(environment: .production, store: .appStore, originalTransaction: "\(user)"), event,
                        BillingPeriod(product: "p", entitlements: ["pro"], expiry: .at(clock.advanced(by: expiry)))))
                _ = try await inbox.store(delivery(event))
            }
            if number < 2 { expected.append(user) }
        }
        let refunded = expected[1]
        #expect(try await store.count("select count(*) from gateway.user_entitlements") == 1, "of the cancelled one")
        for limit in 1...3 { #expect(try await inbox.allExpiring(within: day, limit: limit) == Set(expected), "pages of \(limit)") }
        #expect(try await inbox.allExpiring(within: .seconds(10_800)) == [refunded], "of two hours ago")
    }

    @Test("a page among forty thousand users whose access ends within the day reads only its own rows", arguments: [false, true])
    func cost(sameInstant: Bool) async throws {
        let store = try await StoreFixture()
        try await store.admin.execute(
            """
            with ending as (
                insert into gateway.user_entitlements (user_id, entitlement, access_until)
                select gen_random_uuid(), 'pro',
                    date_trunc('hour', now()) + case when \(sameInstant) then 20000 else n end * interval '1 ms'
                from generate_series(1, 40000) n
                returning user_id
            ), subscriber as (
                insert into gateway.subscribers (id, revision, fold_version) overriding system value
                select n, 1, 1 from generate_series(1, 40000) n
            ), named as (
                insert into gateway.subscriber_ids (id, subscriber) select e.user_id::text, row_number() over () from ending e
            )
            insert into gateway.billing_events (source, event_id, status, subscriber, environment, body, event)
            select 'revenuecat', n::text, 'folded', n, 'production', '', '{}' from generate_series(1, 40000) n
            """)
        try await store.admin.execute("analyze gateway.user_entitlements, gateway.subscriber_ids, gateway.billing_events")
        let function = """
            gateway.ending_access(
                86400, (extract(epoch from date_trunc('hour', now()) + interval '20 s') * 1000000)::bigint,
                '80000000-0000-0000-0000-000000000000', 100)
            """
        #expect(try await store.count(Query(unsafeSQL: "select count(*) from \(function)")) == 100)
        // Each row costs a page of its table, one of its index, and five to nine that look up its user's name and an event of the subscriber.
        let pages = try await store.pages(of: function)
        #expect(pages < 1_500, "\(pages)")
    }
}

extension BillingInbox {
    /// The users of all pages.
    func allExpiring(within: Duration, limit: Int = 10) async throws -> Set<UserID> {
        var users: Set<UserID> = []
        var cursor: String?
        repeat {
            let page = try await expiring(within, cursor, limit)
            users.formUnion(page.items)
            cursor = page.nextCursor
        } while cursor != nil
        return users
    }
}
