import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Testing

@Suite("SubscriptionAdministration")
struct SubscriptionAdministrationTests {
    private static let day: Int64 = 86_400_000
    /// Midnight of the UTC day.
    private let today = Int64(Date().timeIntervalSince1970) / 86_400 * 86_400_000

    private func subscriptions(_ store: StoreFixture) -> SubscriptionAdministration {
        .postgres(client: store.gateway, includingSandbox: false)
    }

    /// An event some days after the first one of the figures, which is 39 days ago.
    private func add(
        _ event: PurchaseEvent, _ purchase: String, on day: Int64, from: Int64, to: Int64, price: Double? = nil, isTrial: Bool = false,
        sandbox: Bool = false, _ store: StoreFixture
    ) async throws {
        func instant(_ day: Int64) -> BillingInstant { BillingInstant(milliseconds: today + (day - 39) * Self.day + 3_600_000)! }
        let change = BillingChange.purchase(
            PurchaseReference(environment: sandbox ? .sandbox : .production, store: .appStore, originalTransaction: purchase), event,
            BillingPeriod(
                product: "monthly", entitlements: ["pro"], isTrial: isTrial, purchasedAt: instant(from), expiry: .at(instant(to))))
        let event = BillingEvent(
            source: .revenuecat, id: UUID().uuidString, occurredAt: instant(day), subject: [SubscriberID("u-\(purchase)")!], change: change)
        _ = try await BillingInbox.postgres(client: store.gateway, includingSandbox: false).store(
            BillingDelivery(
                source: .revenuecat, id: event.id, type: "X", environment: .production, body: [], effect: .event(event),
                price: price.map { Nanodollars(Int64($0 * 1_000_000_000)) }))
    }

    @Test("active, trial, conversion, churn, refunds, revenue by day and monthly recurring revenue come from the events")
    func figures() async throws {
        let store = try await StoreFixture()
        // A trial that converts and renews; a lost trial; a refund; an unpriced payment; a sandbox payment.
        try await add(.purchased, "a", on: 0, from: 0, to: 7, price: 0, isTrial: true, store)
        try await add(.renewed, "a", on: 7, from: 7, to: 37, price: 9.99, store)
        try await add(.renewed, "a", on: 37, from: 37, to: 67, price: 9.99, store)
        try await add(.purchased, "b", on: 1, from: 1, to: 8, price: 0, isTrial: true, store)
        try await add(.cancelled, "b", on: 2, from: 1, to: 8, store)
        try await add(.expired(paused: false), "b", on: 8, from: 1, to: 8, store)
        try await add(.purchased, "c", on: 3, from: 3, to: 33, price: 20, store)
        try await add(.refunded, "c", on: 5, from: 3, to: 5, price: -20, store)
        try await add(.expired(paused: false), "c", on: 5, from: 3, to: 5, store)
        try await add(.purchased, "d", on: 36, from: 36, to: 66, store)
        try await add(.purchased, "s", on: 4, from: 4, to: 34, price: 100, sandbox: true, store)

        let first = CalendarDay(daysSinceEpoch: Int(today / Self.day) - 39)
        let later = CalendarDay(daysSinceEpoch: first.daysSinceEpoch + 60)
        let days = try await subscriptions(store).figures(.someone(role: .operator), first, later)
        #expect(days.map(\.day.daysSinceEpoch) == Array(first.daysSinceEpoch...first.daysSinceEpoch + 39), "no day in the future")
        #expect(days[0].trials == 1 && days[0].newTrials == 1 && days[0].active == 0 && days[0].monthlyRecurring == nil)
        #expect(days[1].trials == 2 && days[2].cancellations == 1 && days[7].trials == 1)
        #expect(days[7].conversions == 1 && days[7].active == 1 && days[7].revenue == Nanodollars(9_990_000_000))
        #expect(days[8].trialsLost == 1 && days[8].trials == 0 && days[8].churned == 0)
        #expect(days[3].newPurchases == 1 && days[3].active == 1 && days[4].active == 1 && days[4].revenue == Nanodollars(0))
        #expect(days[5].refunds == 1 && days[5].refunded == Nanodollars(20_000_000_000) && days[5].churned == 1 && days[5].active == 0)
        #expect(days[7].monthlyRecurring == Nanodollars(Int64((9.99 * 30.436875 / 30 * 1_000_000_000).rounded())))
        #expect(days[36].unpriced == 1 && days[36].monthlyRecurringUnpriced == 1 && days[36].active == 2)
        #expect(days[37].renewals == 1 && days[37].active == 2 && days[39].active == 2)
        #expect(days.map(\.revenue.raw).reduce(0, +) == 39_980_000_000)
        await #expect(throws: NotAllowed.self) { try await subscriptions(store).figures(.someone(), first, first) }
    }

    @Test("a grant and its revocation are billing events, are in the audit log, and need an existing user")
    func grant() async throws {
        let store = try await StoreFixture()
        let (user, admin) = (UserID.random(), Caller.someone(role: .operator))
        let now = BillingInstant(clamping: Int64(Date().timeIntervalSince1970 * 1000))
        func change(_ action: SubscriptionEdit.Action, at offset: Int64, by caller: Caller? = nil) async throws -> EntitlementTimeline? {
            try await subscriptions(store).change(
                caller ?? admin, user,
                SubscriptionEdit(action, at: now.advanced(by: offset), reason: "because \(offset)", requestID: "request-\(offset)"))
        }
        let grant = SubscriptionEdit.Action.grant(entitlement: "pro", until: .at(now.advanced(by: Self.day)))
        #expect(try await change(grant, at: 1) == nil)
        #expect(try await store.count("select count(*) from gateway.billing_events") == 0)
        try await store.admin.execute("insert into public.users (id) values (\(user.uuid))")
        #expect(try await change(grant, at: 2)?.state(at: now.advanced(by: 3)).store == .manual)
        #expect(
            try await store.value(
                "select (extract(epoch from access_until) * 1000)::bigint::text from gateway.user_entitlements")
                == "\(now.milliseconds + Self.day)")
        #expect(try await change(.revocation(entitlement: nil), at: 5)?.state(at: now.advanced(by: 6)).status == .revoked)
        #expect(try await store.count("select count(*) from gateway.user_entitlements") == 0)
        await #expect(throws: NotAllowed.self) { try await change(grant, at: 7, by: .someone(role: .creator)) }

        let account = try await store.value("select 'account/' || account_id from public.users where id = \(user.uuid)")
        let entries = try await AuditLog.postgres(client: store.gateway).entries(admin, nil, 10)
        #expect(entries.map(\.action) == ["subscription.revoke", "subscription.grant"])
        #expect(entries.map(\.reason) == ["because 5", "because 2"] && entries.map(\.requestID) == ["request-5", "request-2"])
        #expect(entries.allSatisfy { $0.target == account && $0.actor == admin.userID })
        #expect(try await store.count("select count(*) from gateway.billing_events where source = 'operator'") == 2)
    }
}
