import CoachCore
import Testing

@testable import ChatAPI

@Suite("The receipt of an orphaned turn")
struct OrphanReceiptTests {
    private let sim = ModelName(provider: "simulator", model: "sim")

    private func receipt(
        _ content: String, answeredBy: ModelName?, facts: TurnFacts = .sample, unusedCalls: [UnusedCall] = [], recordedCalls: [Int] = [],
        isStopRequested: Bool = false, prices: [Price] = []
    ) -> TurnReceipt {
        let start = TurnStart(
            facts: facts, promptTokens: 40, answeredBy: answeredBy, unusedCalls: unusedCalls, recordedCalls: recordedCalls)
        return OrphanCollector.receipt(
            for: OrphanedTurn(start: start, content: content, durationMilliseconds: 9, isStopRequested: isStopRequested),
            prices: PriceBook(prices))
    }

    @Test("text is kept as interrupted, and an estimate is billed")
    func withText() {
        let kept = receipt("four words are here", answeredBy: sim)
        #expect(kept.status == .interrupted && kept.finalizedBy == .recovery && kept.finishReason == nil)
        #expect(kept.bill?.estimated == true && kept.bill?.usage.input == 40 && (kept.bill?.usage.output ?? 0) > 0)
        #expect(kept.bill?.cost == nil, "a model without a price has no cost, not cost 0")
    }

    @Test("the prices are those of the day on which the turn began, independent of this machine's clock")
    func priceOfTheDay() {
        func cost(_ day: Int) -> Nanodollars? {
            var facts = TurnFacts.sample
            facts.day = CalendarDay(daysSinceEpoch: day)
            let prices = [(0, 1_000), (10, 2_000)].map { first, price in
                Price(
                    provider: sim.provider, model: sim.model, validFrom: CalendarDay(daysSinceEpoch: first),
                    rates: .init(input: PicodollarsPerToken(Int64(price)), output: PicodollarsPerToken(0)))
            }
            return receipt("four words", answeredBy: sim, facts: facts, prices: prices).bill?.cost
        }
        #expect(cost(9) == Nanodollars(40) && cost(10) == Nanodollars(80))
    }

    @Test("danger is recorded for it, without the versions of the instance that crashed")
    func danger() {
        var facts = TurnFacts.sample
        facts.risk = RiskAssessment(tier: .crisis, categories: [.abuse], subject: .user, patterns: ["model.abuse"])
        let receipt = receipt("x", answeredBy: nil, facts: facts)
        #expect(receipt.crisis?.events.map(\.action) == [.card] && receipt.crisis?.events.first?.stage == .model)
        #expect(receipt.crisis?.versions == nil && self.receipt("x", answeredBy: sim).crisis == nil)
    }

    @Test("calls beside the answer's are billed under their recorded numbers; without an answer the last accepted one is the turn's own")
    func otherCalls() {
        func receipt(_ answeredBy: ModelName?, recordedAs numbers: [Int]) -> TurnReceipt {
            var facts = TurnFacts.sample
            facts.earlierCalls = [BilledCall(number: 2, purpose: .judge, name: sim, bill: nil)]
            let others = [
                UnusedCall(name: sim, isAccepted: true, usage: TokenUsage(input: 7, output: 3)), UnusedCall(name: sim, isAccepted: false),
            ]
            return self.receipt("", answeredBy: answeredBy, facts: facts, unusedCalls: others, recordedCalls: numbers)
        }
        // The number 4 was used for a record that failed.
        let answered = receipt(sim, recordedAs: [3, 5])
        #expect(answered.bill?.usage.input == 40 && answered.otherCalls?.map(\.number) == [2, 3, 5])
        #expect(answered.otherCalls?.map(\.bill?.usage.input) == [nil, 7, nil])
        let void = receipt(nil, recordedAs: [3])
        #expect(void.bill?.usage.input == 7 && void.bill?.estimated == false && void.otherCalls?.map(\.number) == [2, 3])
        #expect(void.otherCalls?.last?.bill == nil)
        #expect(receipt(nil, recordedAs: []).otherCalls?.map(\.number) == [2], "crashed before a request followed the first")
    }

    @Test("a requested stop ends it as stopped, also without text", arguments: ["Half", ""])
    func stopRequested(content: String) {
        let receipt = receipt(content, answeredBy: sim, isStopRequested: true)
        #expect(receipt.status == .stopped && receipt.finishReason == .stopped && receipt.errorCode == nil)
        #expect(receipt.content == content && receipt.bill?.estimated == true && receipt.finalizedBy == .recovery)
    }

    @Test("without text the turn has failed; without a model nothing is billed")
    func withoutText() {
        #expect(receipt("", answeredBy: sim).status == .failed)
        #expect(receipt("", answeredBy: sim).bill?.usage.input == 40)
        #expect(receipt("", answeredBy: nil).bill == nil)
    }
}
