import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("The inbox of billing events")
struct BillingInboxTests {
    private let now = BillingInstant(milliseconds: 1_767_225_600_000)!
    private let month: Int64 = 30 * 86_400_000

    private func inbox(_ store: StoreFixture) -> BillingInbox { .postgres(client: store.gateway, includingSandbox: false) }

    private func purchase(
        _ event: PurchaseEvent, of subject: [SubscriberID], at offset: Int64 = 0, until: Int64? = nil, _ entitlement: String = "pro"
    ) -> BillingEvent {
        BillingEvent(
            source: .revenuecat, id: UUID().uuidString, occurredAt: now.advanced(by: offset), subject: subject,
            change: .purchase(
                PurchaseReference(environment: .production, store: .appStore, originalTransaction: "t-\(subject[0])"), event,
                BillingPeriod(product: "monthly", entitlements: [entitlement], expiry: .at(now.advanced(by: until ?? month)))))
    }

    private func delivery(_ event: BillingEvent, body: [UInt8] = [0xFF, 0x00]) -> BillingDelivery {
        BillingDelivery(
            source: event.source, id: event.id, type: "TYPE", environment: .production, body: body, effect: .event(event))
    }

    private func state(_ caller: Caller, _ store: StoreFixture, at offset: Int64 = 1) async throws -> EntitlementState {
        try await inbox(store).subscription(caller).state(at: now.advanced(by: offset))
    }

    private func entitlements(_ caller: Caller, _ store: StoreFixture) async throws -> [String] {
        try await store.admin.query(
            """
            select entitlement || ' ' || (extract(epoch from access_until) * 1000)::bigint from gateway.user_entitlements
            where user_id = \(caller.userID.uuid) order by 1
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
    }

    @Test("an event is stored once, as received, and its effect is there before the user is")
    func once() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let event = purchase(.purchased, of: [SubscriberID(caller.userID)])
        #expect(try await state(caller, store) == .none)
        #expect(try await inbox(store).store(delivery(event)) == .stored)
        #expect(try await inbox(store).store(delivery(event, body: [1])) == .known)
        let state = try await state(caller, store)
        #expect(state.isActive && state.entitlement == "pro" && state.expiresAt == now.advanced(by: month))
        #expect(try await entitlements(caller, store) == ["pro \(now.advanced(by: month + EntitlementFold.renewalDelay).milliseconds)"])
        let stored = try await store.value(
            "select encode(body, 'hex') || ' ' || status || ' ' || type from gateway.billing_events where event_id = \(event.id)")
        #expect(stored == "ff00 folded TYPE")
        #expect(try await self.state(.someone(), store) == .none)
    }

    @Test("an event without effect is stored with its reason, and once")
    func ignored() async throws {
        let store = try await StoreFixture.shared()
        let junk = BillingDelivery(
            source: .revenuecat, id: UUID().uuidString, type: nil, environment: .production, body: Array(repeating: 0, count: 262_144),
            effect: .none(reason: "the type is not known"))
        #expect(try await inbox(store).store(junk) == .stored)
        #expect(try await inbox(store).store(junk) == .known)
        let stored = try await store.value(
            "select status || ' ' || ignored_reason || ' ' || octet_length(body) from gateway.billing_events where event_id = \(junk.id)")
        #expect(stored == "ignored the type is not known 262144")
    }

    @Test("events that arrive in any order, and at once, give the fold of all")
    func anyOrder() async throws {
        let store = try await StoreFixture.shared()
        for _ in 0..<5 {
            let caller = Caller.someone()
            let anonymous = try #require(SubscriberID("$RCAnonymousID:\(UUID())"))
            let user = SubscriberID(caller.userID)
            var events = [
                purchase(.purchased, of: [anonymous]), purchase(.renewed, of: [anonymous], at: 10, until: 2 * month),
                purchase(.cancelled, of: [anonymous], at: 20, until: 2 * month), purchase(.purchased, of: [user], at: 30, "plus"),
                purchase(.billingIssue(graceUntil: now.advanced(by: 3 * month)), of: [anonymous], at: 40),
            ]
            events.append(
                BillingEvent(
                    source: .revenuecat, id: UUID().uuidString, occurredAt: now.advanced(by: 50), subject: [user, anonymous],
                    change: .identity))
            let fold = EntitlementFold(events)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for event in events.shuffled() + events.shuffled() {
                    group.addTask { _ = try await self.inbox(store).store(self.delivery(event)) }
                }
                try await group.waitForAll()
            }
            for offset in [1, month - 1, month, month + 1, 2 * month, 3 * month - 1, 3 * month, 4 * month] {
                let instant = now.advanced(by: offset)
                #expect(try await state(caller, store, at: offset) == fold.state(of: user, at: instant))
            }
            let subscribers = try await store.count(
                "select count(distinct subscriber) from gateway.subscriber_ids where id in (\(user.text), \(anonymous.text))")
            #expect(subscribers == 1)
        }
    }

    @Test("a transfer takes the entitlement from one user and gives it to another")
    func transfer() async throws {
        let store = try await StoreFixture.shared()
        let (first, second) = (Caller.someone(), Caller.someone())
        _ = try await inbox(store).store(delivery(purchase(.purchased, of: [SubscriberID(first.userID)])))
        #expect(try await entitlements(first, store).count == 1)
        let transfer = BillingEvent(
            source: .revenuecat, id: UUID().uuidString, occurredAt: now.advanced(by: 5), subject: [],
            change: .transfer(from: [SubscriberID(first.userID)], to: [SubscriberID(second.userID)], store: nil, environment: nil))
        _ = try await inbox(store).store(delivery(transfer))
        #expect(try await state(first, store) == .none)
        #expect(try await state(second, store).isActive)
        #expect(try await entitlements(first, store) == [])
        #expect(try await entitlements(second, store).count == 1)
    }

    @Test("access without end is stored as infinity")
    func lifetime() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let grant = BillingEvent(
            source: .operator, id: UUID().uuidString, occurredAt: now, subject: [SubscriberID(caller.userID)],
            change: .grant(entitlement: "pro", until: .never))
        _ = try await inbox(store).store(delivery(grant))
        let isInfinite = try await store.value(
            "select access_until = 'infinity' from gateway.user_entitlements where user_id = \(caller.userID.uuid)")
        #expect(isInfinite == "t")
        #expect(try await state(caller, store, at: 1000 * month).isActive)
    }
}
