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
        _ event: PurchaseEvent, of subject: [SubscriberID], at offset: Int64 = 0, until: Int64? = nil, _ entitlement: String = "pro",
        id: String = UUID().uuidString
    ) -> BillingEvent {
        BillingEvent(
            source: .revenuecat, id: id, occurredAt: now.advanced(by: offset), subject: subject,
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

    @Test("events in any order, and concurrent ones, give the same entitlements")
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

    @Test("a hundred events of one subscriber that come at once are all stored")
    func crowd() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let subject = [SubscriberID(caller.userID)]
        let events = (0..<100).map { purchase(.renewed, of: subject, at: Int64($0), until: month + Int64($0)) }
        let inbox = inbox(store)
        try await withThrowingTaskGroup(of: BillingReceipt.self) { group in
            for event in events { group.addTask { try await inbox.store(self.delivery(event)) } }
            for try await receipt in group { #expect(receipt == .stored) }
        }
        #expect(try await state(caller, store, at: 200).expiresAt == now.advanced(by: month + 99))
    }

    @Test("events of many users that come at once are stored together")
    func together() async throws {
        let store = try await StoreFixture.shared()
        let inbox = inbox(store)
        let callers = (0..<60).map { _ in Caller.someone() }
        let events = callers.map { purchase(.purchased, of: [SubscriberID($0.userID)]) }
        try await withThrowingTaskGroup(of: BillingReceipt.self) { group in
            for (place, event) in events.enumerated() {
                group.addTask { try await inbox.store(self.delivery(event, body: Array("body \(place)".utf8))) }
            }
            for try await receipt in group { #expect(receipt == .stored) }
        }
        for caller in callers { #expect(try await state(caller, store).expiresAt == now.advanced(by: month)) }
        let bodies = try await store.admin.query(
            "select event_id || ' ' || convert_from(body, 'UTF8') from gateway.billing_events where event_id = any (\(events.map(\.id)))"
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
        #expect(Set(bodies) == Set(events.enumerated().map { "\($1.id) body \($0)" }))
        let transactions = try await store.count(
            "select count(distinct xmin::text) from gateway.billing_events where event_id = any (\(events.map(\.id)))")
        #expect(transactions < 40, "\(transactions) transactions for 60 events")
    }

    @Test(
        "of events that come at once, one that cannot be stored is refused alone; those of one subscriber, and an event that comes twice, are no error"
    )
    func togetherWithOthers() async throws {
        let store = try await StoreFixture.shared()
        let inbox = inbox(store)
        let callers = (0..<20).map { _ in Caller.someone() }
        let anonymous = try #require(SubscriberID("$RCAnonymousID:\(UUID())"))
        var events = callers.map { purchase(.purchased, of: [SubscriberID($0.userID)]) }
        // Two that are folded together, of different first names.
        events[4] = purchase(.purchased, of: [SubscriberID(callers[4].userID), anonymous])
        events[5] = purchase(.purchased, of: [SubscriberID(callers[5].userID), anonymous], at: 1, "plus")
        events[9] = purchase(.purchased, of: [SubscriberID(callers[9].userID)], id: String(repeating: "x", count: 256))
        try await withThrowingTaskGroup(of: (Int, BillingReceipt?).self) { group in
            for (place, event) in (events + events[10...12]).enumerated() {
                group.addTask { (place, try? await inbox.store(self.delivery(event))) }
            }
            var receipts: [Int: BillingReceipt] = [:]
            for try await (place, receipt) in group { receipts[place] = receipt }
            #expect(receipts.count == 22 && receipts[9] == nil)
            for place in 10...12 { #expect(Set([receipts[place], receipts[place + 10]]) == [.stored, .known]) }
        }
        for (place, caller) in callers.enumerated() { #expect(try await state(caller, store, at: 2).isActive == (place != 9)) }
        #expect(try await entitlements(callers[5], store).count == 2)
        #expect(
            try await store.count(
                "select count(distinct subscriber) from gateway.subscriber_ids where id in (\(events[4].subject[0].text), \(anonymous.text))"
            ) == 1)
    }

    @Test("another transaction that holds a subscriber does not hold up the events of others")
    func held() async throws {
        let store = try await StoreFixture()
        let inbox = inbox(store)
        let callers = (0..<40).map { _ in Caller.someone() }
        let first = purchase(.purchased, of: [SubscriberID(callers[0].userID)])
        #expect(try await inbox.store(delivery(first)) == .stored)
        let later = try await store.admin.withTransaction { lease in
            try await lease.execute(
                """
                select from gateway.subscribers s
                where s.id = (select i.subscriber from gateway.subscriber_ids i where i.id = \(callers[0].userID.description)) for update
                """)
            let renewal = delivery(purchase(.renewed, of: [SubscriberID(callers[0].userID)], at: 1, until: 2 * month))
            let later = Task { try await inbox.store(renewal) }
            let waits: Query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while try await store.count(waits) == 0 { await Task.yield() }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: BillingReceipt.self) { group in
                for caller in callers.dropFirst() {
                    group.addTask { try await inbox.store(self.delivery(self.purchase(.purchased, of: [SubscriberID(caller.userID)]))) }
                }
                for try await receipt in group { #expect(receipt == .stored) }
            }
            // The renewal waits for a second.
            #expect(ContinuousClock.now - start < .milliseconds(950))
            return later
        }
        #expect(try await later.value == .stored)
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
