import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Calls beside the one that answered")
struct OtherCallsTests {
    private func receipt(_ identity: TurnIdentity, of caller: Caller) -> TurnReceipt {
        var receipt = TurnReceipt.complete(identity, of: caller)
        let bill = TurnBill(
            provider: "slow", model: "m", usage: TokenUsage(input: 90, cachedInput: 0, cacheWrite: 0, output: 3, reasoning: 0),
            cost: Nanodollars(1_000), estimated: true)
        receipt.otherCalls = [
            BilledCall(name: ModelName(provider: "down", model: "m"), bill: nil),
            BilledCall(name: ModelName(provider: "slow", model: "m"), bill: bill),
        ]
        return receipt
    }

    private func rows(_ store: StoreFixture, _ identity: TurnIdentity) async throws -> [String] {
        try await store.admin.query(
            """
            select concat_ws('|', call, revision, provider, coalesce(tokens_in::text, '-'), coalesce(tokens_out::text, '-'),
                coalesce(cost_usd::text, '-'), unpriced, estimated, coalesce(finalized_by::text, '-'))
            from public.usage_logs where turn_id = \(identity.turnID.uuid) order by call, revision
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
    }

    @Test("have a row each, are paid for when a provider accepted them, and are written once")
    func booked() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        let receipt = receipt(identity, of: caller)
        #expect(try await store.turns().finish(receipt) == .finalized)
        #expect(try await store.turns().finish(receipt) == .alreadyFinalized)
        #expect(
            try await rows(store, identity) == [
                "1|0|-|-|-|0|f|-", "1|1|simulator|100|25|0.000123456|0|f|owner", "3|1|down|-|-|-|0|f|-",
                "4|1|slow|90|3|0.000001000|0|t|owner",
            ])
        let budget: String? = try await store.value(
            "select concat_ws('|', spent_usd, tokens, unpriced_turns) from public.budgets where user_id = \(caller.userID.uuid)")
        #expect(budget == "0.000124456|218|0")
    }

    @Test("are written beside recovery's receipt when the owner's comes late")
    func late() async throws {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        let identity = try await store.turns().begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var recovered = TurnReceipt.complete(identity, of: caller)
        recovered.finalizedBy = .recovery
        recovered.status = .interrupted
        recovered.finishReason = nil
        #expect(try await store.turns().finish(recovered) == .finalized)
        let receipt = receipt(identity, of: caller)
        #expect(try await store.turns().finish(receipt) == .finalized)
        #expect(try await rows(store, identity).filter { $0.hasPrefix("3|") || $0.hasPrefix("4|") }.count == 2)
    }
}
