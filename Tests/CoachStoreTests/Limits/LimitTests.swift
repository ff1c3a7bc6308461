import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Limits")
struct LimitTests {
    @Test("the daily quota rejects until midnight UTC, with the limit in the error")
    func quota() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(messagesPerDay: 2)))
        try await turns.talk(caller, "1")
        try await turns.talk(caller, "2")
        let rejection = try await turns.begin(caller, TurnRequest(message: "3"), risk: .calm).rejection
        #expect(rejection.reason == .quotaExhausted && rejection.limit == 2)
        #expect((1...86_400).contains(rejection.retryAfter ?? 0) && rejection.tier == "free")
        #expect((rejection.resetAt ?? 1) % 86_400 == 0)
        try await store.admin.execute("update public.rate_limits set day = day - 1 where user_id = \(caller.userID.uuid)")
        try await turns.talk(caller, "3")
    }

    @Test("a message that is given back can be sent again: on its own day, and no more than were counted")
    func givenBack() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns, requests) = (Caller.someone(), store.turns(TierBook.free(messagesPerDay: 1)), store.requests())
        func isRejected() async throws -> Bool {
            try await turns.begin(caller, TurnRequest(message: "2"), risk: .calm).rejection.reason == .quotaExhausted
        }
        let context = try await turns.begin(caller, TurnRequest(message: "1"), risk: .calm).begun
        try await turns.finish(.failed(context.identity, of: caller))
        try await requests.giveBackMessage(caller, CalendarDay(daysSinceEpoch: context.day.daysSinceEpoch - 1))
        #expect(try await isRejected())
        for _ in 0..<2 { try await requests.giveBackMessage(caller, context.day) }
        #expect(try await store.count("select messages from public.rate_limits where user_id = \(caller.userID.uuid)") == 0)
        try await turns.talk(caller, "2")
        #expect(try await isRejected())
    }

    @Test("a user is new for ten seconds after their first request, in which a statement beside it may not have seen their row")
    func newUser() async throws {
        let store = try await StoreFixture.shared()
        let (caller, requests) = (Caller.someone(), store.requests())
        #expect(try await requests.take(caller).isNewUser)
        #expect(try await requests.take(caller).isNewUser)
        try await store.admin.execute(
            "update public.users set created_at = created_at - interval '11 seconds' where id = \(caller.userID.uuid)")
        #expect(try await requests.take(caller).isNewUser == false)
    }

    @Test("the number of concurrent turns is limited by the tier")
    func concurrent() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(concurrentTurns: 2)))
        let first = try await turns.begin(caller, TurnRequest(message: "1"), risk: .calm).begun.identity
        _ = try await turns.begin(caller, TurnRequest(message: "2"), risk: .calm).begun
        let rejection = try await turns.begin(caller, TurnRequest(message: "3"), risk: .calm).rejection
        #expect(rejection.reason == .tooManyTurns && rejection.limit == 2)
        try await turns.finish(.complete(first, of: caller))
        _ = try await turns.begin(caller, TurnRequest(message: "3"), risk: .calm).begun
    }

    @Test("a daily budget counts costs and reservations, and a settled turn counts its cost")
    func budget() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let turns = store.turns(TierBook.free(budgets: .init(costPerDay: Nanodollars(1_000)), reserve: Nanodollars(400)))
        let first = try await turns.begin(caller, TurnRequest(message: "1"), risk: .calm).begun.identity
        let second = try await turns.begin(caller, TurnRequest(message: "2"), risk: .calm).begun.identity
        #expect(try await turns.begin(caller, TurnRequest(message: "3"), risk: .calm).rejection.reason == .budgetExhausted)
        try await turns.finish(.complete(first, of: caller, cost: Nanodollars(100)))
        try await turns.finish(.failed(second, of: caller))
        let budget: Query = "select spent_usd || ' ' || reserved_usd from public.budgets where user_id = \(caller.userID.uuid)"
        #expect(try await store.value(budget) == "0.000000100 0.000000000")
        let third = try await turns.begin(caller, TurnRequest(message: "3"), risk: .calm).begun.identity
        try await turns.finish(.complete(third, of: caller, cost: Nanodollars(501)))
        #expect(try await store.value(budget) == "0.000000601 0.000000000")
        #expect(try await turns.begin(caller, TurnRequest(message: "4"), risk: .calm).rejection.reason == .budgetExhausted)
    }

    /// nil when the budget rejects the turn.
    private func beginWithinBudget(_ caller: Caller, _ turns: TurnPorts) async throws -> TurnIdentity? {
        let result = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm)
        if case .begun(let context, _, _) = result { return context.identity }
        #expect(try result.rejection.reason == .budgetExhausted)
        return nil
    }

    @Test("of a hundred concurrent turns only those begin whose reservations of money fit, and a settled turn counts its cost")
    func moneyBudget() async throws {
        let store = try await StoreFixture.shared()
        for budgets in [Tier.Budgets(costPerDay: Nanodollars(1_000)), .init(costPerMonth: Nanodollars(1_000))] {
            let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(budgets: budgets, reserve: Nanodollars(130))))
            let begun = try await withThrowingTaskGroup(of: TurnIdentity?.self) { group in
                for _ in 0..<100 { group.addTask { try await self.beginWithinBudget(caller, turns) } }
                return try await group.reduce(into: [TurnIdentity]()) { if let identity = $1 { $0.append(identity) } }
            }
            #expect(begun.count == 7)
            // Each costs what was reserved for it.
            for identity in begun { try await turns.finish(.complete(identity, of: caller, cost: Nanodollars(130))) }
            let spent = try await store.value(
                "select spent_usd || ' ' || reserved_usd from public.budgets where user_id = \(caller.userID.uuid)")
            #expect(spent == "0.000000910 0.000000000")
            #expect(try await beginWithinBudget(caller, turns) == nil)
        }
    }

    @Test("of a hundred concurrent turns only those begin whose reservations of tokens fit, and a settled turn counts its tokens")
    func tokenBudget() async throws {
        let store = try await StoreFixture.shared()
        for budgets in [Tier.Budgets(tokensPerDay: 1_000), .init(tokensPerMonth: 1_000)] {
            let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(budgets: budgets, reservedTokens: 130)))
            let begun = try await withThrowingTaskGroup(of: TurnIdentity?.self) { group in
                for _ in 0..<100 { group.addTask { try await self.beginWithinBudget(caller, turns) } }
                return try await group.reduce(into: [TurnIdentity]()) { if let identity = $1 { $0.append(identity) } }
            }
            #expect(begun.count == 7)
            let budget: Query = "select tokens || ' ' || reserved_tokens from public.budgets where user_id = \(caller.userID.uuid)"
            #expect(try await store.value(budget) == "0 910")
            // 125 tokens each; one has failed, and takes none.
            for identity in begun.dropLast() { try await turns.finish(.complete(identity, of: caller)) }
            try await turns.finish(.failed(begun[6], of: caller))
            #expect(try await store.value(budget) == "750 0")
            let last = try #require(try await beginWithinBudget(caller, turns))
            #expect(try await beginWithinBudget(caller, turns) == nil)
            try await turns.finish(.complete(last, of: caller))
            #expect(try await store.value(budget) == "875 0")
            #expect(try await beginWithinBudget(caller, turns) == nil)
        }
    }

    @Test("no reservation of tokens is made for a turn that calls no model")
    func tokensOfFixedText() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        var book = TierBook.free(budgets: .init(tokensPerDay: 100), reservedTokens: 130)
        book.crisis = TierBook.CrisisAllowance(modelCallsPerDay: 1)
        let turns = store.turns(book)
        let reserved: Query = "select coalesce(sum(reserved_tokens), 0)::integer from public.budgets where user_id = \(caller.userID.uuid)"
        let called = try await turns.begin(caller, TurnRequest(message: "I want to end it"), risk: .danger(.crisis)).begun
        #expect(called.callsModel)
        #expect(try await store.count(reserved) == 130)
        let fixed = try await turns.begin(caller, TurnRequest(message: "I want to end it"), risk: .danger(.crisis)).begun
        #expect(!fixed.callsModel)
        #expect(try await store.count(reserved) == 130)
    }

    @Test("a user's own budget of the day or the month that is nearly used up raises an alert, before it refuses a turn")
    func softLimit() async throws {
        let store = try await StoreFixture()
        let alerts = Alerts.postgres(client: store.gateway, instance: UUID(), release: "00001", isDelivered: false)
        let rules = AlertRules(
            rules: [
                AlertRule(id: "soft", measure: .userBudgetShare, above: 0.8, windowMinutes: 60, minimum: 1, severity: .info)
            ])
        for budgets in [Tier.Budgets(tokensPerDay: 300), .init(tokensPerMonth: 300), .init(costPerMonth: Nanodollars(296_000))] {
            try await store.admin.execute("update public.budgets set limit_share = null")
            let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(budgets: budgets)))
            var shares: [String?] = []
            // Each turn takes 125 tokens and 123,456 nanodollars.
            for number in 1...3 {
                #expect(try await alerts.evaluate(rules, [:]) == [], "turn \(number)")
                try await turns.talk(caller, "Message \(number)")
                shares.append(
                    try await store.value(
                        "select round(limit_share::numeric, 2)::text from public.budgets where user_id = \(caller.userID.uuid)"))
            }
            #expect(shares == [nil, nil, "0.83"])
            #expect(try await alerts.evaluate(rules, [:]) == ["soft"])
            #expect(try await turns.begin(caller, TurnRequest(message: "4"), risk: .calm).rejection.reason == .budgetExhausted)
        }
    }

    @Test("requests of all kinds are counted exactly in each minute, and rejected ones are not counted")
    func requestRate() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(perMinute: 20)))
        let requests = store.requests(perMinute: 20)
        let rejections = try await withThrowingTaskGroup(of: Rejection.Reason?.self) { group in
            for _ in 0..<40 { group.addTask { try await requests.rejection(of: caller) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(rejections.count { $0 == nil } == 20)
        #expect(rejections.count { $0 == .rateLimited } == 20)

        let opening = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm)
        let rejection = try opening.rejection
        #expect(rejection.reason == .rateLimited && rejection.limit == 20)
        #expect((1...60).contains(rejection.retryAfter ?? 0))
        #expect(opening.rate.remaining == 0)
        try await store.admin.execute(
            "update public.rate_limits set window_started_at = window_started_at - interval '61 s' where user_id = \(caller.userID.uuid)")
        #expect(try await requests.take(caller).rate.remaining == 19)
    }

    @Test("a rejection uncounts the message, and the request too if the request limit rejected it")
    func messageGivenBack() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        func rejection(_ request: TurnRequest, _ turns: TurnPorts) async throws -> Rejection.Reason {
            let opening = try await turns.begin(caller, request, risk: .calm)
            let left = try await store.count("select 5 - requests from public.rate_limits where user_id = \(caller.userID.uuid)")
            #expect(opening.rate.remaining == max(0, left))
            return try opening.rejection.reason
        }
        let counted: Query = "select requests || ' ' || messages from public.rate_limits where user_id = \(caller.userID.uuid)"
        let turns = store.turns(TierBook.free(messagesPerDay: 1, perMinute: 5))
        let request = TurnRequest(message: "Once", idempotencyKey: "key")
        _ = try await turns.begin(caller, request, risk: .calm).begun
        #expect(try await store.value(counted) == "1 1")

        #expect(try await rejection(TurnRequest(message: "Another", idempotencyKey: "key"), turns) == .idempotencyMismatch)
        #expect(try await store.value(counted) == "1 1")
        #expect(try await rejection(TurnRequest(message: "Twice"), turns) == .quotaExhausted)
        #expect(try await store.value(counted) == "2 1")
        #expect(try await rejection(TurnRequest(message: "Where?", conversationID: .random()), turns) == .notFound)
        #expect(try await store.value(counted) == "3 1")
        let impatient = store.turns(TierBook.free(perMinute: 3))
        #expect(try await impatient.begin(caller, TurnRequest(message: "Now"), risk: .calm).rejection.reason == .rateLimited)
        #expect(try await store.value(counted) == "3 1")
        try await store.admin.execute("update public.users set suspended_at = now() where id = \(caller.userID.uuid)")
        #expect(try await rejection(TurnRequest(message: "Please"), turns) == .suspended)
        #expect(try await store.value(counted) == "3 1")
    }

    @Test("exactly as many messages a day are accepted as the tier allows, also concurrent ones")
    func exactQuota() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(messagesPerDay: 7)))
        let begun = try await withThrowingTaskGroup(of: Bool.self) { group in
            for n in 0..<20 {
                group.addTask {
                    if case .begun = try await turns.begin(caller, TurnRequest(message: "\(n)"), risk: .calm) { true } else { false }
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(begun == 7)
        #expect(try await store.count("select messages from public.rate_limits where user_id = \(caller.userID.uuid)") == 7)
    }

    @Test("a transaction that began earlier and waited does not reset a day or window that another one has opened")
    func noWayBack() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(TierBook.free(messagesPerDay: 2)))
        try await turns.talk(caller, "1")
        try await store.admin.execute(
            """
            update public.rate_limits set day = day + 1, messages = 2, window_started_at = window_started_at + interval '1 s', requests = 9
            where user_id = \(caller.userID.uuid)
            """)
        #expect(try await turns.begin(caller, TurnRequest(message: "2"), risk: .calm).rejection.reason == .quotaExhausted)
        #expect(try await store.count("select requests from public.rate_limits where user_id = \(caller.userID.uuid)") == 10)
    }

    @Test("a suspended user's requests are rejected")
    func suspendedRequest() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        #expect(try await store.requests().rejection(of: caller) == nil)
        try await store.admin.execute("update public.users set suspended_at = now() where id = \(caller.userID.uuid)")
        #expect(try await store.requests().rejection(of: caller) == .suspended)
    }
}
