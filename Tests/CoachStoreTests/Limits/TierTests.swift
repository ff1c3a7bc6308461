import CoachCore
import Foundation
import PostgresClient
import Testing

@testable import CoachStore

@Suite("Tiers")
struct TierTests {
    private static let book = TierBook(
        [
            Tier("free", requestsPerMinute: 3, messagesPerDay: 1, domains: [.fitness], history: .init(tokens: 1_000, messages: 2)),
            Tier("trial", entitlements: ["premium"], isTrial: true, messagesPerDay: 2),
            Tier("plus", entitlements: ["plus", "*"], messagesPerDay: 3),
            Tier("premium", entitlements: ["premium"], requestsPerMinute: 9),
        ], graceSeconds: 600)

    /// The tier of a new turn, from the ledger.
    private func tier(_ caller: Caller, _ store: StoreFixture) async throws -> String? {
        let turns = store.turns(
            TierBook(Self.book.tiers.map { Tier($0.name, entitlements: $0.entitlements, isTrial: $0.isTrial) }, graceSeconds: 600))
        let context = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun
        let recorded = try await store.value("select tier from public.turns where id = \(context.identity.turnID.uuid)")
        #expect(context.tier == recorded)
        try await turns.finish(.complete(context.identity, of: caller))
        return recorded
    }

    @Test("the tier is that of the best entitlement with access or in its grace period")
    func best() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        #expect(try await tier(caller, store) == "free")
        try await store.entitle(caller, to: "anything", for: 60)
        #expect(try await tier(caller, store) == "plus")
        try await store.entitle(caller, to: "premium", for: 60, isTrial: true)
        #expect(try await tier(caller, store) == "plus", "a trial of the lower tier takes nothing away")
        try await store.entitle(caller, to: "anything", for: -601)
        #expect(try await tier(caller, store) == "trial")
        try await store.entitle(caller, to: "premium", for: 60)
        #expect(try await tier(caller, store) == "premium")
        try await store.entitle(caller, to: "premium", for: -590)
        #expect(try await tier(caller, store) == "premium", "grace")
        try await store.entitle(caller, to: "premium", for: -601)
        #expect(try await tier(caller, store) == "trial")
        try await store.entitle(caller, to: "premium", for: -601, isTrial: true)
        #expect(try await tier(caller, store) == "free")
    }

    @Test("a trial without a tier of its own gives the paid one, and access without end never ends")
    func trialAndLifetime() async throws {
        let store = try await StoreFixture.shared()
        let (one, two) = (Caller.someone(), Caller.someone())
        try await store.entitle(one, to: "plus", for: 60, isTrial: true)
        #expect(try await tier(one, store) == "plus")
        try await store.admin.execute("insert into gateway.user_entitlements values (\(two.userID.uuid), '', false, 'infinity')")
        #expect(try await tier(two, store) == "plus", "access without a named entitlement")
    }

    @Test("an entitlement from billing events gives access, and a refund ends it at once")
    func folded() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let inbox = BillingInbox.postgres(client: store.gateway, includingSandbox: false)
        let now = try #require(BillingInstant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)))
        func send(_ event: PurchaseEvent, isTrial: Bool = false, at offset: Int64) async throws {
            let period = BillingPeriod(
                product: "monthly", entitlements: ["premium"], isTrial: isTrial, expiry: .at(now.advanced(by: 3_600_000)))
            let id = UUID().uuidString
            let reference = PurchaseReference(environment: .production, store: .appStore, originalTransaction: "t-\(caller.userID)")
            _ = try await inbox.store(
                BillingDelivery(
                    source: .revenuecat, id: id, type: "TEST", environment: .production, body: [],
                    effect: .event(
                        BillingEvent(
                            source: .revenuecat, id: id, occurredAt: now.advanced(by: offset), subject: [SubscriberID(caller.userID)],
                            change: .purchase(reference, event, period)))))
        }
        try await send(.purchased, isTrial: true, at: -2_000)
        #expect(try await tier(caller, store) == "trial")
        try await send(.renewed, at: -1_000)
        #expect(try await tier(caller, store) == "premium")
        try await send(.refunded, at: 0)
        #expect(try await tier(caller, store) == "free")
    }

    @Test("the limits of messages, requests and history are those of the tier")
    func limits() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(Self.book))
        let requests = RequestCounter.postgres(client: store.gateway) { Self.book }
        let first = try await turns.begin(caller, TurnRequest(message: "1"), risk: .calm)
        #expect(first.rate.limit == 3)
        let identity = try first.begun.identity
        try await turns.finish(.complete(identity, of: caller))
        let rejection = try await turns.begin(caller, TurnRequest(message: "2"), risk: .calm).rejection
        #expect(rejection.reason == .quotaExhausted && rejection.tier == "free")
        #expect(Self.book.upgrade(after: rejection)?.name == "trial")
        #expect(try await requests.take(caller).rate.limit == 3)
        #expect(try await requests.rejection(of: caller) == .rateLimited)

        try await store.entitle(caller, to: "premium", for: 60)
        #expect(try await requests.take(caller).rate == RateLimit(limit: 9, remaining: 5, resetAt: first.rate.resetAt))
        for n in 2...3 {
            let request = TurnRequest(message: "\(n)", conversationID: identity.conversationID)
            let context = try await turns.begin(caller, request, risk: .calm).begun
            #expect(context.history.count == (n - 1) * 2)
            try await turns.finish(.complete(context.identity, of: caller))
        }
        try await store.entitle(caller, to: "premium", for: -601)
        try await store.admin.execute(
            "update public.rate_limits set requests = 0, messages = 0 where user_id = \(caller.userID.uuid)")
        let request = TurnRequest(message: "4", conversationID: identity.conversationID)
        #expect(try await turns.begin(caller, request, risk: .calm).begun.history.count == 2)
    }

    @Test("a requested domain outside the tier needs a subscription, also in a retry; a message at risk needs none")
    func domain() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(Self.book))
        var request = TurnRequest(message: "Lead", pinnedDomain: .leadership)
        let rejection = try await turns.begin(caller, request, risk: .calm).rejection
        #expect(rejection == Rejection(reason: .subscriptionRequired, tier: "free", domain: .leadership))
        #expect(Self.book.upgrade(after: rejection)?.name == "trial")
        #expect(try await store.count("select messages from public.rate_limits where user_id = \(caller.userID.uuid)") == 0)
        _ = try await turns.begin(Caller.someone(), request, risk: .danger(.crisis)).begun

        request.pinnedDomain = .fitness
        let allowed = try await turns.begin(caller, request, risk: .calm).begun
        #expect(allowed.pinnedDomain == .fitness)
        try await turns.finish(.failed(allowed.identity, of: caller))

        try await store.entitle(caller, to: "plus", for: 60)
        request.pinnedDomain = .leadership
        let paid = try await turns.begin(caller, request, risk: .calm).begun.identity
        try await turns.finish(.complete(paid, of: caller))
        try await store.entitle(caller, to: "plus", for: -601)
        try await store.admin.execute("update public.rate_limits set requests = 0 where user_id = \(caller.userID.uuid)")
        guard case .rejected(let refused, _) = try await turns.retry(caller, paid.turnID) else {
            Issue.record("the domain of a retry is the same")
            return
        }
        #expect(refused.reason == .subscriptionRequired && refused.domain == .leadership)
    }

    @Test(
        "daily and monthly budgets of tokens and money reject, with the time of their reset",
        arguments: [
            (Tier.Budgets(tokensPerDay: 125), 1), (Tier.Budgets(tokensPerMonth: 125), 31),
            (Tier.Budgets(costPerDay: Nanodollars(123_455)), 1), (Tier.Budgets(costPerMonth: Nanodollars(123_455)), 31),
        ])
    func budgets(_ budgets: Tier.Budgets, days: Int) async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (
            Caller.someone(), store.turns(TierBook([Tier("free", budgets: budgets), Tier("paid", entitlements: ["x"])]))
        )
        // 90 and 10 tokens in, 20 and 5 out.
        try await turns.talk(caller, "1")
        #expect(try await store.count("select tokens from public.budgets where user_id = \(caller.userID.uuid)") == 125)
        let rejection = try await turns.begin(caller, TurnRequest(message: "2"), risk: .calm).rejection
        #expect(rejection.reason == .budgetExhausted)
        #expect((1...days * 86_400).contains(rejection.retryAfter ?? 0) && (rejection.resetAt ?? 1) % 86_400 == 0)
        try await store.entitle(caller, to: "x", for: 60)
        try await turns.talk(caller, "2")
    }

    @Test("a monthly budget counts the earlier days of the month only")
    func month() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook([Tier("free", budgets: .init(tokensPerMonth: 100))])))
        try await store.admin.execute("insert into public.users (id) values (\(caller.userID.uuid))")
        try await store.admin.execute(
            """
            insert into public.budgets (user_id, day, tokens)
            values (\(caller.userID.uuid), (date_trunc('month', now() at time zone 'UTC') - interval '1 day')::date, 1000)
            """)
        _ = try await turns.begin(caller, TurnRequest(message: "1"), risk: .calm).begun
        try await store.admin.execute(
            """
            insert into public.budgets (user_id, day, tokens)
            values (\(caller.userID.uuid), date_trunc('month', now() at time zone 'UTC')::date, 100)
            """)
        #expect(try await turns.begin(caller, TurnRequest(message: "2"), risk: .calm).rejection.reason == .budgetExhausted)
    }

    @Test("the count of a request does not wait for the disk, and nothing else changes its transaction's durability")
    func durability() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let durability = { (statement: Query) in
            try await store.gateway.batch([Claims.gateway(for: caller), statement, "show synchronous_commit"]) { rows in
                try rows.only { row in try row.value(0, as: String.self) }
            }
        }
        let limits = #"{"tiers": [{"requests_per_minute": 9}], "paid": {}, "trials": {}, "grace_seconds": 0, "is_turn": false}"#
        #expect(try await durability("select gateway.take_request(\(caller.userID.uuid), \(limits)::jsonb)") == "off")
        #expect(try await durability("select gateway.count_request(\(caller.userID.uuid), 0)") == "on")
    }

    @Test("of a thousand concurrent requests through two clients exactly as many pass as the limit allows")
    func exactOverInstances() async throws {
        let store = try await StoreFixture.shared()
        let other = try store.anotherGateway()
        let caller = Caller.someone()
        let book = TierBook([Tier("free", requestsPerMinute: 100)])
        let counters = [store.gateway, other].map { client in RequestCounter.postgres(client: client) { book } }
        let passed = try await withThrowingTaskGroup(of: Bool.self) { group in
            for n in 0..<1_000 { group.addTask { try await counters[n % 2].rejection(of: caller) == nil } }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        // The requests may take longer than the minute on a busy machine.
        let windows = try await store.count(
            "select ceil(extract(epoch from clock_timestamp() - u.created_at) / 60)::integer from public.users u where id = \(caller.userID.uuid)"
        )
        if windows == 1 { #expect(passed == 100) } else { #expect(passed <= 100 * windows) }
        await other.shutdown(grace: .zero)
    }
}
