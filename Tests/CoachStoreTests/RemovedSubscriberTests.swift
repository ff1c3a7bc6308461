import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Billing events of removed users")
struct RemovedSubscriberTests {
    private let now = BillingInstant(milliseconds: 1_767_225_600_000)!
    private let month: Int64 = 30 * 86_400_000

    private func event(_ change: BillingChange, of subject: [SubscriberID], at offset: Int64) -> BillingEvent {
        BillingEvent(source: .revenuecat, id: UUID().uuidString, occurredAt: now.advanced(by: offset), subject: subject, change: change)
    }

    private func purchase(_ event: PurchaseEvent, months: Int64 = 1) -> BillingChange {
        .purchase(
            PurchaseReference(environment: .production, store: .appStore, originalTransaction: "t-1"), event,
            BillingPeriod(product: "monthly", entitlements: ["pro"], expiry: .at(now.advanced(by: months * month))))
    }

    /// With the user's id and a text of theirs, as raw webhooks have them.
    private func delivery(_ event: BillingEvent, of user: Caller) -> BillingDelivery {
        let body = #"{"app_user_id":"\#(user.userID.uuid.uuidString)","email":"canary@example.org","id":"\#(user.userID)"}"#
        return BillingDelivery(
            source: event.source, id: event.id, type: "TYPE", environment: .production, body: Array(body.utf8), effect: .event(event),
            price: Nanodollars(9_990_000_000))
    }

    /// Tables with the user's id or the canary, as text or inside bytes.
    private func tables(naming user: UserID, _ store: StoreFixture) async throws -> [String] {
        let names: [String] = try await store.admin.query(
            """
            select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname in ('public', 'gateway', 'ledger', 'operator') and c.relkind = 'r'
            """
        ) { rows in try rows.map { row in try row.value(0) } }
        func hex(_ text: String) -> String { text.utf8.map { String(format: "%02x", $0) }.joined() }
        let needles = [user.description, "canary"].flatMap { [$0, hex($0), hex($0.uppercased())] }
        let condition = needles.map { "line ilike '%\($0)%'" }.joined(separator: " or ")
        var found: [String] = []
        for name in names {
            let query = Query(unsafeSQL: "select count(*) from (select to_jsonb(t)::text as line from \(name) t) r where \(condition)")
            if try await store.count(query) > 0 { found.append(name) }
        }
        return found
    }

    private func remove(_ caller: Caller, _ store: StoreFixture) async throws {
        let removal = UserRemoval(client: store.gateway)
        while try await removal.removePart(of: caller.userID) != .removed {}
    }

    @Test("keep what the fold and the figures need, under a pseudonym; nothing else names the user, and later events bring nothing back")
    func removed() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let caller = Caller.someone()
        try await store.turns().talk(caller, "canary")
        _ = try await inbox.store(delivery(event(purchase(.purchased), of: [SubscriberID(caller.userID)], at: 0), of: caller))
        var ignored = delivery(event(.identity, of: [], at: 0), of: caller)
        (ignored.effect, ignored.id) = (.none(reason: "unknown type"), "ignored")
        _ = try await inbox.store(ignored)
        #expect(try await tables(naming: caller.userID, store).contains("gateway.billing_events"))

        try await remove(caller, store)
        #expect(try await tables(naming: caller.userID, store) == [])
        #expect(try await store.count("select count(*) from gateway.billing_figures where price_usd = 9.99") == 1)
        #expect(try await store.count("select count(*) from gateway.subscriber_ids") == 1)

        let renewal = delivery(event(purchase(.renewed, months: 2), of: [SubscriberID(caller.userID)], at: month), of: caller)
        #expect(try await inbox.store(renewal) == .stored)
        #expect(try await inbox.store(renewal) == .known)
        #expect(try await tables(naming: caller.userID, store) == [])
        #expect(try await store.count("select count(*) from gateway.subscribers where revision > 1") == 1, "folded with the former")
        #expect(try await inbox.expiring(nil, 10) == [])
    }

    @Test("still give access to another account that the purchase is transferred to")
    func transferred() async throws {
        let store = try await StoreFixture()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let (old, new) = (Caller.someone(), Caller.someone())
        for user in [old, new] { _ = try await store.requests().take(user) }
        _ = try await inbox.store(delivery(event(purchase(.purchased), of: [SubscriberID(old.userID)], at: 0), of: old))
        try await remove(old, store)
        let transfer = BillingChange.transfer(
            from: [SubscriberID(old.userID)], to: [SubscriberID(new.userID)], store: nil, environment: nil)
        _ = try await inbox.store(delivery(event(transfer, of: [], at: 1), of: old))
        let state = try await inbox.subscription(new).state(at: now.advanced(by: 2))
        #expect(state.isActive && state.entitlement == "pro")
        #expect(try await tables(naming: old.userID, store) == [])
    }
}
