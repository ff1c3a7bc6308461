import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Repricing")
struct RepricingTests {
    private func rows(_ store: StoreFixture, _ turn: TurnIdentity) async throws -> String? {
        try await store.value(
            """
            select string_agg(concat_ws('|', revision, tokens_in, coalesce(cost_usd::text, '-'), unpriced), ' ' order by revision)
            from public.usage_logs where turn_id = \(turn.turnID.uuid) and call = 1
            """)
    }

    private func book(_ raw: Int64?) -> PriceBook {
        PriceBook(
            raw.map { raw in
                let rate = PicodollarsPerToken(raw)
                return [
                    Price(
                        provider: "sim", model: "", match: .prefix, validFrom: CalendarDay(daysSinceEpoch: 0),
                        rates: .init(input: rate, output: rate, cachedInput: rate, cacheWrite: rate, reasoning: rate))
                ]
            } ?? [])
    }

    @Test("adds what differs as revisions, keeps the old figures, and a second run changes nothing")
    func revisions() async throws {
        // Its own database: it prices all calls of a day.
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let context = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun
        var receipt = TurnReceipt.complete(context.identity, of: caller)
        receipt.bill = TurnBill(
            name: ModelName(provider: "sim", model: "m"),
            usage: TokenUsage(input: 100, cachedInput: 20, cacheWrite: 0, output: 30, reasoning: nil),
            cost: Nanodollars(5_000), estimated: false)
        try await turns.finish(receipt)
        let unpriced = try await turns.begin(caller, TurnRequest(message: "Hello again"), risk: .calm).begun
        var second = TurnReceipt.complete(unpriced.identity, of: caller)
        second.bill = TurnBill(
            name: ModelName(provider: "sim", model: "n"), usage: TokenUsage(input: 10, output: 10), cost: nil, estimated: false)
        // No provider accepted this call: it has a model and nothing to price.
        second.otherCalls = [BilledCall(number: 3, name: ModelName(provider: "sim", model: "down"), bill: nil)]
        try await turns.finish(second)

        let dearer = Repricing(client: store.admin, prices: book(40_000))
        let counted = try await dearer.price(context.day, books: false)
        #expect(counted == .init(calls: 2, changed: 2, unpriced: 0, difference: Nanodollars(1_000 + 800)))
        #expect(try await rows(store, context.identity) == "0|-|0 1|120|0.000005000|0")
        #expect(try await dearer.price(context.day, books: true) == counted)
        #expect(try await rows(store, context.identity) == "0|-|0 1|120|0.000005000|0 2|0|0.000001000|0")
        #expect(try await rows(store, unpriced.identity) == "0|-|0 1|10|-|1 2|0|0.000000800|-1")
        #expect(try await dearer.price(context.day, books: true) == .init(calls: 2))
        // Once, by nobody who signed in; neither the count nor the second run is a change.
        let logged: Query = """
            select string_agg(concat_ws('|', actor_role, actor_id, action, target, reason), ' ' order by sequence) from gateway.audit_log
            """
        #expect(try await store.value(logged) == "system|ledger.reprice|ledger/\(context.day)|2 calls, by 0.000001800 USD")
        let spent: Query = "select concat_ws('|', spent_usd, unpriced_turns) from public.budgets where user_id = \(caller.userID.uuid)"
        #expect(try await store.value(spent) == "0.000006800|0")
        let known = try #require(try await turns.load(context.identity.turnID, for: caller))
        #expect(known.bill?.cost == Nanodollars(6_000) && known.bill?.usage.reasoning == nil && known.bill?.usage.input == 100)

        let none = try await Repricing(client: store.admin, prices: book(nil)).price(context.day, books: true)
        #expect(none == .init(calls: 2, changed: 2, unpriced: 2, difference: Nanodollars(-6_800)))
        #expect(try await store.value(spent) == "0.000000000|2")
        #expect(try await turns.load(context.identity.turnID, for: caller)?.bill?.cost == nil)
        try await store.foldRollups()
        let calls = try await Figures.postgres(client: store.gateway)
            .allCalls(.someone(role: .operator), ["provider": "sim"], ["cost_usd", "unpriced"])
        #expect(calls.sorted { $0[1] < $1[1] } == [["-", "false"], ["-", "true"], ["-", "true"]], "a call without a price has no cost")
    }

    @Test("reasoning of an estimate is output where it has no price, as in the bill of a call that is made now")
    func estimate() async throws {
        // Its own database: it prices all calls of a day.
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let context = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun
        var receipt = TurnReceipt.complete(context.identity, of: caller)
        let (name, usage) = (
            ModelName(provider: "sim", model: "m"), TokenUsage(input: 100, cachedInput: 0, cacheWrite: 0, output: 7, reasoning: 14)
        )
        receipt.bill = TurnBill(name: name, usage: usage, cost: nil, estimated: true)
        try await turns.finish(receipt)
        let prices = PriceBook([
            Price(
                provider: "sim", model: "m", validFrom: CalendarDay(daysSinceEpoch: 0),
                rates: .init(input: .init(1_000_000), output: .init(2_000_000)))
        ])
        let result = try await Repricing(client: store.admin, prices: prices).price(context.day, books: true)
        #expect(result == .init(calls: 1, changed: 1, unpriced: 0, difference: Nanodollars(142_000)))
        let bill = prices.bill(of: name, on: context.day, reported: TokenUsage(), estimate: usage)
        #expect(bill.cost == Nanodollars(142_000))
    }

    @Test("a call whose bill was taken back costs nothing, also without a price")
    func takenBack() async throws {
        // Its own database: it prices all calls of a day.
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let context = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun
        var estimate = TurnReceipt.complete(context.identity, of: caller)
        estimate.finalizedBy = .recovery
        let fallback = ModelName(provider: "sim", model: "fallback")
        estimate.otherCalls = [BilledCall(number: 2, name: fallback, bill: estimate.bill)]
        try await turns.finish(estimate)
        // The owner knows that no provider accepted them.
        var receipt = TurnReceipt.failed(context.identity, of: caller)
        receipt.otherCalls = [BilledCall(number: 2, name: fallback, bill: nil)]
        try await turns.finish(receipt)
        for prices in [book(nil), book(40_000)] {
            #expect(try await Repricing(client: store.admin, prices: prices).price(context.day, books: true) == .init(calls: 2))
        }
        #expect(try await store.value("select sum(unpriced) || '|' || sum(cost_usd) from public.usage_logs") == "0|0.000000000")
    }

    @Test("the first day is that after the last one that was detached from the ledger")
    func firstDay() async throws {
        // Its own database: days are detached for all users.
        let store = try await StoreFixture()
        let repricing = Repricing(client: store.admin, prices: book(nil))
        #expect(try await repricing.firstDay() == nil)
        try await store.admin.execute("update gateway.rollup_state set ledger_start = date '2026-03-02'")
        #expect(try await repricing.firstDay() == CalendarDay("2026-03-02"))
    }
}
