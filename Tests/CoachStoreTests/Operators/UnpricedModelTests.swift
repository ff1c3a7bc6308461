import CoachCore
import CoachStore
import PostgresClient
import Testing

@Suite("Costs of models without a price")
struct UnpricedModelTests {
    @Test("a turn without a price counts in the row of each model whose cost lacks a call of it, and once in all others")
    func unpricedModels() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var receipt = TurnReceipt.complete(identity, of: caller, cost: nil)
        func call(_ number: Int, _ model: String, cost: Nanodollars?) -> BilledCall {
            let name = ModelName(provider: "other", model: model)
            return BilledCall(
                number: number, name: name,
                bill: TurnBill(name: name, usage: TokenUsage(input: 1, output: 1), cost: cost, estimated: false))
        }
        receipt.otherCalls = [call(2, "m", cost: nil), call(3, "m", cost: nil), call(4, "priced", cost: Nanodollars(5_000))]
        try await turns.finish(receipt)
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func costs(_ groups: [String], _ columns: [String]) async throws -> Set<[String]> {
            let table = try await figures.table(admin, .costs, FigureSample.query(groups))
            return Set(table.texts(.costs, columns + ["turns", "cost_usd", "unpriced_turns"]))
        }
        let models: Set = [["coach-sim", "1", "-", "1"], ["m", "0", "-", "1"], ["priced", "0", "5000", "0"]]
        for groups in [["model"], ["day", "model"], ["persona", "model"], ["user", "model"], ["tier", "provider", "model"]] {
            #expect(try await costs(groups, ["model"]) == models, "\(groups)")
        }
        #expect(try await costs(["provider"], ["provider"]) == [["simulator", "1", "-", "1"], ["other", "0", "5000", "1"]])
        for groups in [[], ["day"], ["tier"], ["user"], ["domain", "tier"]] {
            #expect(try await costs(groups, []) == [["1", "5000", "1"]], "\(groups)")
        }
    }
}
