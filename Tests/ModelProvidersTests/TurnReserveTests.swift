import CoachCore
import Testing

@testable import ModelProviders

@Suite("What is reserved for a turn")
struct TurnReserveTests {
    private let day = CalendarDay(unixSeconds: 0)

    /// One dollar for a million tokens of input, and ten for a million of output.
    private func price(_ model: String) -> Price {
        Price(provider: "p", model: model, validFrom: day, rates: .init(input: .init(1_000_000), output: .init(10_000_000)))
    }

    private func underreserved(_ reserve: Int64?, history: Int = 3_000) -> [String: Int64] {
        let choice = { (model: String, tokens: Int) in
            ModelChoice(name: ModelName(provider: "p", model: model), maximumOutputTokens: tokens)
        }
        let route = Route(choice("short", 100), [choice("long", 1_000), choice("unpriced", 1_000), choice("short", 100)])
        let tiers = TierBook([Tier("free", history: .init(tokens: history))], reservePerTurn: reserve.map { Nanodollars($0) })
        let configuration = ModelConfiguration(
            providers: [:], defaultRoute: route, routes: ["default": route, "domain.x": Route(choice("long", 1_000))])
        let found = TierModels.underreserved(tiers, at: PriceBook([price("short"), price("long")]), in: configuration, on: day)
        return Dictionary(uniqueKeysWithValues: found.map { ($0.name.model, $0.cost.raw) })
    }

    @Test("is compared with the cost of the longest history, message and answer, for each model with a price")
    func costs() {
        // 3,000 tokens of history and 2,000 of a message.
        #expect(underreserved(nil) == [:] && underreserved(15_000_000) == [:])
        #expect(underreserved(14_999_999) == ["long": 15_000_000])
        #expect(underreserved(1) == ["long": 15_000_000, "short": 6_000_000])
        #expect(underreserved(15_000_000, history: 3_001) == ["long": 15_001_000])
    }
}
