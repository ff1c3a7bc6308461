import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Limits for a user at risk")
struct CrisisAllowanceTests {
    @Test("no limit, persona or budget rejects a message at risk", arguments: [RiskTier.crisis, .high, .imminent])
    func danger(tier: RiskTier) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let closed = TierBook.free(
            messagesPerDay: 0, concurrentTurns: 0, budgets: .init(costPerDay: Nanodollars(0)), perMinute: 0, reserve: Nanodollars(1))
        let turns = store.turns(closed)
        let request = TurnRequest(message: "I want to end it", personaID: .random(), shareToken: "gone")
        #expect(try await turns.begin(caller, request, risk: .danger(.concern)).rejection.reason == .rateLimited)
        let context = try await turns.begin(caller, request, risk: .danger(tier)).begun
        #expect(context.safetyLevel == .calm && context.highestLevel == .calm && context.persona == nil, "before this message")

        // The next message is calm, but the stored level applies.
        let second = try await turns.begin(caller, TurnRequest(message: "yes"), risk: .calm).begun
        #expect(second.safetyLevel == SafetyFusion.level(of: tier))

        // The limit of requests is off for turns alone.
        let counter = store.requests(perMinute: 0)
        #expect(try await counter.take(caller, true).safetyLevel == SafetyFusion.level(of: tier))
        let rejection = await #expect(throws: CountedRejection.self) { _ = try await counter.take(caller) }
        #expect(rejection?.rejection.reason == .rateLimited && rejection?.rejection.safetyLevel == SafetyFusion.level(of: tier))
    }

    private func crisis(calls: Int = 2, turns: Int = 20, _ tier: Tier = Tier("free", messagesPerDay: 0)) -> TierBook {
        TierBook([tier], crisis: TierBook.CrisisAllowance(modelCallsPerDay: calls, concurrentTurns: turns))
    }

    @Test("beyond the limits a user at risk has a daily allowance of model calls, then gets the fixed text")
    func allowance() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(crisis()))
        for _ in 0..<2 {
            let context = try await turns.begin(caller, TurnRequest(message: "I want to end it"), risk: .danger(.crisis)).begun
            #expect(context.callsModel)
            try await turns.finish(.complete(context.identity, of: caller, risk: .danger(.crisis)))
        }
        let fixed = try await turns.begin(caller, TurnRequest(message: "I want to end it"), risk: .danger(.crisis)).begun
        #expect(!fixed.callsModel)
        // An ordinary turn, but without a recorded call.
        #expect(try await store.count("select count(*) from public.usage_logs where turn_id = \(fixed.identity.turnID.uuid)") == 0)
        var receipt = TurnReceipt.complete(fixed.identity, of: caller, "You are not alone.", risk: .danger(.crisis))
        receipt.bill = nil
        receipt.finishReason = .safety
        #expect(try await turns.finish(receipt) == .finalized)
        #expect(try await turns.load(fixed.identity.turnID, for: caller)?.finishReason == .safety)

        // Then a calm message is rejected, and the rejection has the safety level.
        let rejection = try await turns.begin(caller, TurnRequest(message: "yes"), risk: .calm).rejection
        #expect(rejection.reason == .quotaExhausted && rejection.safetyLevel == .crisis)
        try await store.admin.execute("update public.rate_limits set day = day - 1 where user_id = \(caller.userID.uuid)")
        #expect(try await turns.begin(caller, TurnRequest(message: "yes"), risk: .calm).begun.callsModel)
    }

    @Test("a retry without a model has the risk with which its message was saved, also when no attempt has decided it")
    func retried() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(crisis(calls: 1)))
        let first = try await turns.begin(caller, TurnRequest(message: "I want to end it"), risk: .danger(.crisis)).begun
        #expect(first.callsModel && first.savedRisk == nil)
        var lost = TurnReceipt.failed(first.identity, of: caller)
        lost.risk = nil
        lost.finalizedBy = .recovery
        try await turns.finish(lost)
        let second = try await turns.retry(caller, first.identity.turnID).begun
        #expect(!second.callsModel && second.earlierRisk == nil && second.savedRisk == .danger(.crisis))
    }

    @Test("turns within the ordinary limits do not use the allowance")
    func withinLimits() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns(crisis(calls: 1, Tier("free", messagesPerDay: 4))))
        for _ in 0..<5 {
            let context = try await turns.begin(caller, TurnRequest(message: "I want to end it"), risk: .danger(.high)).begun
            #expect(context.callsModel)
            try await turns.finish(.complete(context.identity, of: caller, risk: .danger(.high)))
        }
        #expect(try await turns.begin(caller, TurnRequest(message: "Help"), risk: .danger(.high)).begun.callsModel == false)
    }

    @Test(
        "the allowance bounds turns at the same time, the minute's requests and the budget too", arguments: ["turns", "minute", "budget"])
    func otherLimits(limit: String) async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let limits =
            switch limit {
            case "turns": crisis(calls: 30, turns: 3, Tier("free", concurrentTurns: 1))
            case "minute": crisis(calls: 2, Tier("free", requestsPerMinute: 1))
            default: crisis(calls: 3, Tier("free", budgets: .init(costPerDay: Nanodollars(0))))
            }
        let turns = store.turns(limits)
        if limit == "budget" {
            try await store.turns().talk(caller, "Hello")
        }
        var called = 0
        for _ in 0..<6 {
            called +=
                try await turns.begin(caller, TurnRequest(message: "I want to end it"), risk: .danger(.crisis)).begun.callsModel ? 1 : 0
        }
        #expect(called == 3)
    }
}
