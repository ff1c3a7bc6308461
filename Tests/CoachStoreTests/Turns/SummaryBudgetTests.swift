import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("What summaries cost and reserve")
struct SummaryBudgetTests: SummaryBench {
    /// Spent and reserved: dollars, and tokens.
    private func budget(_ store: StoreFixture, _ caller: Caller) async throws -> String? {
        try await store.value(
            """
            select concat_ws('|', spent_usd - before.cost, reserved_usd, tokens - before.used, reserved_tokens)
            from public.budgets b cross join (
                select coalesce(sum(l.cost_usd), 0) as cost, coalesce(sum(l.tokens_in + l.tokens_out), 0) as used
                from public.usage_logs l join public.users u using (account_id) where u.id = \(caller.userID.uuid) and l.purpose = 'chat'
            ) as before
            where b.user_id = \(caller.userID.uuid)
            """)
    }

    @Test("a call whose process was killed after its request left is billed by the estimate; a late receipt replaces that")
    func estimated() async throws {
        let store = try await StoreFixture()
        let (caller, summaries) = (Caller.someone(), summaries(store, .free(reserve: Nanodollars(5_000), reservedTokens: 300)))
        let housekeeping = Housekeeping.postgres(client: store.gateway, daysKept: 1)
        let request = try await conversation(store, caller)
        let task = try #require(try await summaries.begin(caller.userID, request))
        #expect(try await budget(store, caller) == "0.000000000|0.000005000|0|300")
        let bill = TurnBill(
            name: ModelName(provider: "sim", model: "m"),
            usage: TokenUsage(input: 9, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0),
            cost: Nanodollars(400), estimated: true)
        #expect(try await summaries.estimate(caller.userID, request, task, bill))
        for count in [1, 0] { #expect(try await housekeeping.endLostSummaries() == count) }
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|0.000000400")
        let revision = try await store.value(
            """
            select concat_ws('|', finalized_by, provider, model, tokens_in, tokens_out, estimated, unpriced) from public.usage_logs
            where turn_id = \(request.turnID.uuid) and purpose = 'summary' and revision = 1
            """)
        #expect(revision == "recovery|sim|m|9|0|t|0")
        #expect(try await budget(store, caller) == "0.000000400|0.000000000|9|0")
        // The process was only slow: no request of it may leave now, and one that has left is booked once.
        #expect(try await summaries.estimate(caller.userID, request, task, bill) == false)
        for isFirst in [true, false] {
            #expect(try await summaries.finish(caller.userID, receipt(request, task, "They want to run.")) == isFirst)
        }
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|0.000000400 1000|2|summary|0.000000300")
        #expect(try await budget(store, caller) == "0.000000700|0.000000000|15|0")
    }

    @Test("a call that runs while its user is removed is billed: its turn stays until then")
    func removedUser() async throws {
        let store = try await StoreFixture.shared()
        let (caller, summaries) = (Caller.someone(), summaries(store))
        let request = try await conversation(store, caller)
        let task = try #require(try await summaries.begin(caller.userID, request))
        let removal = UserRemoval.postgres(client: store.gateway)
        var progress = UserRemoval.Progress.removing
        // At first the jobs, by which the instance learns that its run is lost.
        while progress == .removing { progress = try await removal.removePart(caller.userID) }
        #expect(progress == .stopping)
        _ = try await summaries.finish(caller.userID, receipt(request, task, "They want to run."))
        while progress != .removed { progress = try await removal.removePart(caller.userID) }
        #expect(try await rows(store, request) == "1000|0|summary|- 1000|1|summary|0.000000700")
    }

    @Test("a call reserves what a turn does in the user's own budgets, and is not begun when one of them is used up")
    func budgets() async throws {
        let store = try await StoreFixture.shared()
        let reserve = Nanodollars(1_000)
        for (limits, fits) in [
            (Tier.Budgets(), true), (.init(costPerDay: Nanodollars(1_000_000)), true), (.init(costPerDay: reserve), false),
            (.init(tokensPerMonth: 900), false),
        ] {
            let caller = Caller.someone()
            let summaries = summaries(store, .free(budgets: limits, reserve: reserve, reservedTokens: 600))
            let request = try await conversation(store, caller)
            let task = try await summaries.begin(caller.userID, request)
            #expect((task != nil) == fits, "\(limits)")
            guard let task else {
                #expect(try await rows(store, request) == nil)
                #expect(try await budget(store, caller)?.hasSuffix("|0.000000000|0|0") == true)
                continue
            }
            #expect(try await budget(store, caller) == "0.000000000|0.000001000|0|600")
            #expect(try await summaries.finish(caller.userID, receipt(request, task, "They want to run.")))
            #expect(try await budget(store, caller) == "0.000000700|0.000000000|15|0")
            #expect(try await summaries.finish(caller.userID, receipt(request, task, "Twice.")) == false)
            #expect(try await budget(store, caller) == "0.000000700|0.000000000|15|0")
        }
    }

    @Test("of summaries that begin at the same time only those begin whose reserves fit")
    func concurrentBudgets() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        var requests: [SummaryRequest] = []
        for _ in 0..<5 { requests.append(try await conversation(store, caller)) }
        let spent = try await store.count("select tokens::integer from public.budgets where user_id = \(caller.userID.uuid)")
        let summaries = summaries(store, .free(budgets: .init(tokensPerDay: spent + 1_300), reservedTokens: 600))
        let begun = try await withThrowingTaskGroup(of: Bool.self) { group in
            for request in requests { group.addTask { try await summaries.begin(caller.userID, request) != nil } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(begun == 2)
    }
}
