import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("The inbox of billing events")
struct BillingInboxTests: BillingBench {
    @Test("an event is stored once, as received, and takes effect also before its user exists")
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

    @Test("the last event in time is folded without reading the earlier ones, an earlier one with them")
    func incremental() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let subject = [SubscriberID(caller.userID)]
        let first = purchase(.purchased, of: subject)
        #expect(try await inbox(store).store(delivery(first)) == .stored)
        try await store.admin.execute("update gateway.billing_events set event = 'unreadable' where event_id = \(first.id)")
        #expect(try await inbox(store).store(delivery(purchase(.renewed, of: subject, at: month, until: 2 * month))) == .stored)
        #expect(try await state(caller, store, at: month + 1).expiresAt == now.advanced(by: 2 * month))
        await #expect(throws: StoreFault.self) {
            _ = try await inbox(store).store(delivery(purchase(.billingIssue(graceUntil: nil), of: subject, at: 1)))
        }
        // One statement reads what the fold needs: the state, or the events.
        for (at, reads) in [(month - 1, "events"), (month, "state")] {
            let read = try await store.value(
                """
                select concat_ws(' ', case when state is not null then 'state' end, case when events is not null then 'events' end)
                from gateway.read_subscribers(
                    '{revenuecat}', '{x}', array[\(now.advanced(by: at).milliseconds)::bigint], array[\(caller.userID.description)], '{1}',
                    (select max(s.fold_version) from gateway.subscribers s join gateway.subscriber_ids i on i.subscriber = s.id
                    where i.id = \(caller.userID.description)))
                """)
            #expect(read == reads)
        }
    }

    @Test("an answer of a store that is longer than a webhook can be has its effect, and its body is not kept")
    func longAnswer() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        var answer = delivery(purchase(.purchased, of: [SubscriberID(caller.userID)], at: 0))
        answer.body = Array(repeating: 0x20, count: 262_145)
        #expect(try await inbox(store).store(answer) == .stored)
        #expect(try await store.count("select count(*) from gateway.billing_events where event_id = \(answer.id) and body = ''") == 1)
        #expect(try await state(caller, store, at: 1).isActive)
    }

    @Test("an event without effect is stored once, with its reason")
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

    @Test("an event that was ignored has its effect, once, when it is sent again and can be read")
    func readAgain() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let renewal = purchase(.renewed, of: [SubscriberID(caller.userID)], until: 2 * month)
        var unread = delivery(renewal)
        unread.effect = .none(reason: "the expiry is missing")
        #expect(try await inbox(store).store(unread) == .stored)
        #expect(try await entitlements(caller, store).isEmpty)
        async let first = inbox(store).store(delivery(renewal))
        async let second = inbox(store).store(delivery(renewal))
        #expect(try await [first, second].filter { $0 == .stored }.count == 1)
        #expect(try await inbox(store).store(unread) == .known)
        #expect(try await entitlements(caller, store).count == 1)
        let stored = try await store.value(
            "select concat_ws(' ', status, ignored_reason, type) from gateway.billing_events where event_id = \(renewal.id)")
        #expect(stored == "folded TYPE")
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

    private func jobs(_ kind: JobKind, _ store: StoreFixture) async throws -> [String] {
        try await store.admin.query(
            """
            select payload::text || ' ' || coalesce(idempotency_key, '') || ' ' || (due_at > now() + interval '30 seconds')
            from gateway.jobs where kind = \(kind.rawValue) order by 1
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
    }

    @Test("an event's jobs are enqueued with its first delivery only")
    func followUp() async throws {
        let store = try await StoreFixture.shared()
        let kind = JobKind(rawValue: "follow-up \(UUID())")
        var delivery = delivery(purchase(.purchased, of: [SubscriberID(Caller.someone().userID)]))
        delivery.followUp = [NewJob(kind, payload: ["a": 1], idempotencyKey: "k", delay: .seconds(60))]
        for _ in 0..<2 { _ = try await inbox(store).store(delivery) }
        #expect(try await jobs(kind, store) == [#"{"a": 1} k true"#])

        // Also those of an event without effect, whose subscriber is looked up.
        delivery.id = UUID().uuidString
        (delivery.effect, delivery.followUp[0].idempotencyKey) = (.none(reason: "no effect"), "other")
        for receipt in [BillingReceipt.stored, .known] { #expect(try await inbox(store).store(delivery) == receipt) }
        #expect(try await jobs(kind, store).sorted() == [#"{"a": 1} k true"#, #"{"a": 1} other true"#])

        let notice = BillingDelivery(
            source: .play, id: UUID().uuidString, type: "subscription:2", environment: .production, body: [1],
            effect: .lookUp(NewJob(JobKind(rawValue: kind.rawValue + " 2"), payload: ["token": "t"])))
        #expect(try await inbox(store).store(notice) == .stored)
        #expect(try await inbox(store).store(notice) == .known)
        #expect(try await jobs(JobKind(rawValue: kind.rawValue + " 2"), store) == [#"{"token": "t"}  false"#])
        #expect(
            try await store.value("select status || ' ' || (subscriber is null) from gateway.billing_events where event_id = \(notice.id)")
                == "queued true")
    }

    @Test("a production event is counted with its price and period, sandbox and manual events are not")
    func figures() async throws {
        let store = try await StoreFixture.shared()
        let user = SubscriberID(Caller.someone().userID)
        var delivery = delivery(purchase(.renewed, of: [user], at: 7))
        delivery.price = Nanodollars(9_990_000_000)
        _ = try await inbox(store).store(delivery)
        let row = try await store.value(
            """
            select concat_ws(' ', kind, purchase, store, product, price_usd::numeric(9, 2), period_start,
                (extract(epoch from period_end) * 1000)::bigint, (extract(epoch from occurred_at) * 1000)::bigint, renews)
            from gateway.billing_figures where event_id = \(delivery.id)
            """)
        #expect(
            row == "renewal t-\(user) app_store monthly 9.99 \(now.advanced(by: month).milliseconds) \(now.milliseconds + 7) t")
        let grant = BillingEvent(
            source: .operator, id: UUID().uuidString, occurredAt: now, subject: [user], change: .grant(entitlement: "pro", until: .never))
        _ = try await inbox(store).store(self.delivery(grant))
        #expect(try await store.count("select count(*) from gateway.billing_figures where event_id = \(grant.id)") == 0)
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
