import CoachCore
import Testing

@testable import ChatAPI

@Suite("Bills of model calls")
struct CallBillingTests {
    private let name = ModelName(provider: "simulator", model: "sim")
    private let text = String(repeating: "They want to run. ", count: 20)

    private func bill(_ billing: CallBilling, _ usage: TokenUsage = TokenUsage()) throws -> TurnBill {
        try #require(billing.bill(name, usage, 1_000, text.utf8, on: CalendarDay(unixSeconds: 0)))
    }

    @Test("reasoning out of sight is billed as reported within what the model may output")
    func reasoning() throws {
        let usage = TokenUsage(input: 1_000, cachedInput: 0, cacheWrite: 0, output: 20, reasoning: 12_000)
        let billing = CallBilling(prices: LiveValue(PriceBook([])), ratios: TokenRatios(longestAnswers: [name: 16_000]))
        #expect(try bill(billing, usage).usage == usage && !bill(billing, usage).estimated)
        #expect(try bill(CallBilling(prices: LiveValue(PriceBook([])), ratios: TokenRatios()), usage).estimated)
    }

    @Test("a whole answer is billed by the text that was read, and by that of its provider when another one had begun anew")
    func wholeAnswer() throws {
        let billing = CallBilling(prices: LiveValue(PriceBook([])), ratios: TokenRatios())
        let other = ModelName(provider: "other", model: "m")
        func output(_ updates: (inout WholeAnswer) -> Void) throws -> Int? {
            var answer = WholeAnswer()
            Array(text.utf8).withUnsafeBufferPointer { answer.take(ModelUpdate(acceptedBy: name, text: $0)) }
            updates(&answer)
            let bill = try #require(billing.bill(answer, 1_000, on: CalendarDay(unixSeconds: 0)))
            #expect(bill.name == name && bill.estimated)
            return bill.usage.output
        }
        let cut = UnusedCall(name: name, isAccepted: true, textBytes: text.utf8.count)
        let refused = UnusedCall(name: other, isAccepted: false)
        let end = ModelEnd.failed(ModelFault(kind: .refused, detail: "overloaded"))
        let whole = TokenEstimate.tokens(in: text.utf8)
        #expect(try output { $0.take(ModelUpdate(end: .stop)) } == whole)
        #expect(try output { $0.take(ModelUpdate(unusedCalls: [cut, refused], end: end)) } == whole)
        let restarted = try output { answer in
            answer.take(ModelUpdate(unusedCalls: [cut], acceptedBy: other))
            answer.take(ModelUpdate(unusedCalls: [refused], end: end))
        }
        #expect(restarted == (text.utf8.count + 3) / 4)
    }

    @Test("an estimate has the ratio that the model's reported calls had to theirs")
    func ratios() throws {
        let billing = CallBilling(prices: LiveValue(PriceBook([])), ratios: TokenRatios())
        let plain = try bill(billing)
        #expect(plain.estimated && plain.usage.input == 1_000 && plain.usage.output == TokenEstimate.tokens(in: text.utf8))
        let output = try #require(plain.usage.output)
        let twice = TokenUsage(input: 2_000, cachedInput: 0, cacheWrite: 0, output: 2 * output, reasoning: 0)
        for _ in 0..<60 {
            let reported = try bill(billing, twice)
            #expect(!reported.estimated && reported.usage == twice)
        }
        let learnt = try bill(billing)
        #expect(learnt.estimated)
        #expect((1_980...2_000).contains(learnt.usage.input ?? 0), "\(learnt)")
        #expect((2 * output - output / 50 - 1...2 * output).contains(learnt.usage.output ?? 0), "\(learnt)")
        // Estimates teach nothing.
        for _ in 0..<20 { #expect(try bill(billing).usage == learnt.usage) }
    }
}
