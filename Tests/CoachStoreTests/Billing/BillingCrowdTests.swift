import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Billing events that come at once")
struct BillingCrowdTests: BillingBench {
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
                    group.addTask { _ = try await inbox(store).store(delivery(event)) }
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
            for event in events { group.addTask { try await inbox.store(delivery(event)) } }
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
                group.addTask { try await inbox.store(delivery(event, body: Array("body \(place)".utf8))) }
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

    @Test("of events that come at once only one that cannot be stored is refused: not several of one subscriber, nor a repeated event")
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
                group.addTask { (place, try? await inbox.store(delivery(event))) }
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
                    group.addTask { try await inbox.store(delivery(purchase(.purchased, of: [SubscriberID(caller.userID)]))) }
                }
                for try await receipt in group { #expect(receipt == .stored) }
            }
            // The renewal waits for a second.
            #expect(ContinuousClock.now - start < .milliseconds(950))
            return later
        }
        #expect(try await later.value == .stored)
    }
}
