import CoachCore
import Testing

@Suite("Learnt token ratios")
struct TokenRatiosTests {
    private let name = ModelName(provider: "p", model: "m")
    private let estimate = TokenUsage(input: 100, cachedInput: 0, cacheWrite: 0, output: 100, reasoning: 0)

    @Test("an estimate approaches what the model has reported, cached input included and reasoning not")
    func learns() {
        let ratios = TokenRatios()
        #expect(ratios.adjusted(estimate, of: name) == estimate)
        for _ in 0..<100 {
            ratios.learn(
                from: TokenUsage(input: 100, cachedInput: 50, cacheWrite: 0, output: 75, reasoning: 900), of: name, estimate: estimate)
        }
        let adjusted = ratios.adjusted(estimate, of: name)
        #expect((149...151).contains(adjusted.input ?? 0) && (75...76).contains(adjusted.output ?? 0), "\(adjusted)")
        #expect(adjusted.cachedInput == 0 && adjusted.reasoning == 0)
        #expect(ratios.adjusted(estimate, of: ModelName(provider: "p", model: "other")) == estimate)
    }

    @Test("reasoning that a provider counts as output does not make its text longer")
    func reasoning() {
        let ratios = TokenRatios()
        let thinking = TokenUsage(input: 100, cachedInput: 0, cacheWrite: 0, output: 100, reasoning: 300)
        for _ in 0..<100 { ratios.learn(from: TokenUsage(input: 100, output: 400), of: name, estimate: thinking) }
        #expect(ratios.adjusted(thinking, of: name) == thinking)
    }

    @Test("absurd reports are bounded, small and unknown ones have no effect")
    func bounded() {
        let ratios = TokenRatios()
        for _ in 0..<200 { ratios.learn(from: TokenUsage(input: 1 << 40, output: 1 << 40), of: name, estimate: estimate) }
        #expect(ratios.adjusted(estimate, of: name).output == 200)
        let fresh = TokenRatios()
        fresh.learn(from: TokenUsage(input: 31, output: 31), of: name, estimate: TokenUsage(input: 10, output: 10))
        fresh.learn(from: TokenUsage(), of: name, estimate: estimate)
        fresh.learn(from: TokenUsage(input: 0, output: 0), of: name, estimate: estimate)
        #expect(fresh.adjusted(estimate, of: name) == estimate)
        #expect(fresh.adjusted(TokenUsage(input: nil, output: 0), of: name) == TokenUsage(input: nil, output: 0))
    }
}
