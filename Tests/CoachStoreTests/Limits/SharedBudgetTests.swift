import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Shared budgets")
struct SharedBudgetTests {
    private let day = CalendarDay(containing: Date())

    private func taken(_ budget: SharedBudget, _ store: StoreFixture) async throws -> Int {
        try await store.count(
            "select taken from gateway.shared_budgets where scope = \(budget.scope.rawValue) and id = \(budget.id) and day = \(day.description)::date"
        )
    }

    @Test("two instances that take slices concurrently never take more than the budget; returned amounts can be taken again")
    func slices() async throws {
        let store = try await StoreFixture.shared()
        let other = try store.anotherGateway()
        let tier = SharedBudget.tier(UUID().uuidString)
        let instances = [store.gateway, other].map { BudgetSlices.postgres(client: $0) }
        let taken = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<400 {
                group.addTask { try await instances[number % 2].take(tier, day, Nanodollars(1_000), Nanodollars(7)).raw }
            }
            return try await group.reduce(into: 0) { $0 += $1 }
        }
        #expect(taken == 1_000)
        #expect(try await self.taken(tier, store) == 1_000)
        try await instances[0].giveBack(tier, day, Nanodollars(5))
        #expect(try await instances[1].take(tier, day, Nanodollars(1_000), Nanodollars(7)) == Nanodollars(5))
        await other.shutdown(grace: .zero)
    }

    @Test("a turn of a budget that is exhausted on its day is rejected, unless the message is at risk")
    func refused() async throws {
        let store = try await StoreFixture.shared()
        let persona = try await store.persona()
        func turns(_ exhausted: [SharedBudget], on day: CalendarDay = CalendarDay(containing: Date())) -> TurnRepository {
            .postgres(
                client: store.gateway, owner: { TurnOwner(instance: UUID(), epoch: 1) }, tiers: { TierBook() },
                exhausted: { Dictionary(uniqueKeysWithValues: exhausted.map { ($0, day) }) })
        }
        let assessment = MessageAssessment(risk: .calm, domains: .zero)
        let request = TurnRequest(message: "Hello", personaID: persona)
        for budget in [SharedBudget.installation, .tier("free"), .persona(persona)] {
            let rejection = try await turns([budget]).begin(.someone(), request, assessment).rejection
            #expect(rejection.reason == .budgetExhausted && rejection.tier == "free" && (rejection.resetAt ?? 1) % 86_400 == 0)
            #expect(rejection.sharedBudget == budget.scope)
            _ = try await turns([budget]).begin(.someone(), request, MessageAssessment(risk: .danger(.crisis), domains: .zero)).begun
            let yesterday = CalendarDay(daysSinceEpoch: day.daysSinceEpoch - 1)
            _ = try await turns([budget], on: yesterday).begin(.someone(), request, assessment).begun
        }
        let several = try await turns([.tier("free"), .persona(persona)]).begin(.someone(), request, assessment).rejection
        #expect(several.sharedBudget == .persona, "another tier would not help")
        for budget in [SharedBudget.tier("paid"), .persona(.random())] {
            _ = try await turns([budget]).begin(.someone(), request, assessment).begun
        }
    }

    @Test("rows of past days are removed, except the day before, whose turns may still end")
    func days() async throws {
        let store = try await StoreFixture()
        let slices = BudgetSlices.postgres(client: store.gateway)
        let start = day.daysSinceEpoch
        for offset in 0..<4 {
            let day = CalendarDay(unixSeconds: (start + offset) * 86_400)
            #expect(try await slices.take(.installation, day, Nanodollars(5), Nanodollars(9)) == Nanodollars(5))
            #expect(try await slices.take(.installation, day, Nanodollars(5), Nanodollars(1)) == Nanodollars(0))
        }
        #expect(try await store.count("select count(*) from gateway.shared_budgets") == 2)
        try await slices.giveBack(.installation, day, Nanodollars(1))
        #expect(try await store.count("select sum(taken)::bigint from gateway.shared_budgets") == 10)
    }
}
