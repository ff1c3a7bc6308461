import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Entitlements of another version of the fold")
struct EntitlementRefoldingTests {
    private let now = BillingInstant(clamping: Int64(Date().timeIntervalSince1970 * 1000))
    private let month: Int64 = 30 * 86_400_000

    private func store(_ environment: BillingEnvironment, of user: UserID, includingSandbox: Bool, in store: StoreFixture) async throws {
        let event = BillingEvent(
            source: .revenuecat, id: UUID().uuidString, occurredAt: now, subject: [SubscriberID(user)],
            change: .purchase(
                PurchaseReference(environment: environment, store: .appStore, originalTransaction: "\(user) \(environment)"), .purchased,
                BillingPeriod(product: "p", entitlements: ["\(environment)"], expiry: .at(now.advanced(by: month)))))
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: includingSandbox)
        _ = try await inbox.store(
            BillingDelivery(source: .revenuecat, id: event.id, type: "T", environment: environment, body: [], effect: .event(event)))
    }

    private func entitlements(in store: StoreFixture) async throws -> [String] {
        try await store.admin.query("select entitlement from gateway.user_entitlements order by 1") { rows in
            try rows.map { row in try row.value(0, as: String.self) }
        }
    }

    /// Folds all pages; returns their number.
    @discardableResult
    private func refold(includingSandbox: Bool, in store: StoreFixture) async throws -> Int {
        let refolding = EntitlementRefolding.postgres(client: store.gateway, includingSandbox: includingSandbox)
        var (pages, last): (Int, EntitlementRefolding.Place?) = (0, .start)
        while let after = last {
            last = try await refolding.refoldPart(after).last
            if last != nil { pages += 1 }
        }
        return pages
    }

    @Test("when sandbox purchases no longer give access, the gate closes without another event; and opens again when they do")
    func sandbox() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone()
        for environment in BillingEnvironment.allCases {
            try await self.store(environment, of: caller.userID, includingSandbox: true, in: store)
        }
        #expect(try await entitlements(in: store) == ["production", "sandbox"])
        #expect(try await refold(includingSandbox: true, in: store) == 0)
        #expect(try await refold(includingSandbox: false, in: store) == 1)
        #expect(try await entitlements(in: store) == ["production"])
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        #expect(try await inbox.subscription(caller).state(at: now).entitlement == "production")
        #expect(try await refold(includingSandbox: false, in: store) == 0, "nothing is left to do")
        #expect(try await refold(includingSandbox: true, in: store) == 1)
        #expect(try await entitlements(in: store) == ["production", "sandbox"])
    }

    @Test("results of an earlier version are computed again, with the state for the next event; those of a later version stay")
    func versions() async throws {
        let store = try await StoreFixture()
        let (early, late) = (Caller.someone(), Caller.someone())
        for caller in [early, late] { try await self.store(.production, of: caller.userID, includingSandbox: false, in: store) }
        let subscriber: (Caller) -> Query = { caller in
            "(select subscriber from gateway.subscriber_ids where id = \(caller.userID.description))"
        }
        try await store.admin.execute("delete from gateway.user_entitlements")
        try await store.admin.execute(
            "update gateway.subscribers set fold_version = fold_version - 2, state = null where id = \(subscriber(early))")
        try await store.admin.execute("update gateway.subscribers set fold_version = fold_version + 2 where id = \(subscriber(late))")
        #expect(try await refold(includingSandbox: false, in: store) == 1)
        let users = try await store.admin.query("select user_id from gateway.user_entitlements") { rows in
            try rows.map { row in UserID(try row.value(0, as: UUID.self)) }
        }
        #expect(users == [early.userID])
        #expect(try await store.count("select count(*) from gateway.subscribers where state is null") == 0)
        #expect(try await store.count("select count(distinct fold_version) from gateway.subscribers") == 2)
    }

    @Test("a subscriber with an event that cannot be read is left as it is and counted, and the others are done")
    func unreadable() async throws {
        let store = try await StoreFixture()
        let callers = [Caller.someone(), Caller.someone()]
        for caller in callers { try await self.store(.sandbox, of: caller.userID, includingSandbox: true, in: store) }
        try await store.admin.execute(
            "update gateway.billing_events set event = 'x' where subscriber = (select min(id) from gateway.subscribers)")
        let part = try await EntitlementRefolding.postgres(client: store.gateway, includingSandbox: false).refoldPart(.start)
        #expect(part.unreadable == 1 && part.last != nil)
        #expect(try await entitlements(in: store) == ["sandbox"])
    }
}
