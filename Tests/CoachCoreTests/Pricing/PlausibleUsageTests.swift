import CoachCore
import Testing

@Suite("Which reports of usage can be true")
struct PlausibleUsageTests {
    private let short = TokenUsage(input: 100, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0)

    @Test("an output of up to four times what was asked for is believed, and of a longer answer up to four times the estimate")
    func output() {
        func believed(_ output: Int, reasoning: Int? = nil, _ estimate: TokenUsage) -> Bool {
            let reported = TokenUsage(input: 90, output: output, reasoning: reasoning)
            return TokenEstimate.plausible(reported, for: estimate) == reported
        }
        #expect(believed(4_096, short) && !believed(4_097, short) && !believed(1_000_000_000, short))
        #expect(believed(96, reasoning: 4_000, short) && !believed(97, reasoning: 4_000, short))
        var long = short
        (long.output, long.reasoning) = (1_500, 500)
        #expect(believed(8_000, long) && !believed(8_001, long) && !believed(Int.max, reasoning: Int.max, long))
    }

    @Test("reasoning that is not shown is believed within four times what the model may output")
    func reasoning() {
        let reported = TokenUsage(input: 90, output: 20, reasoning: 12_000)
        #expect(TokenEstimate.plausible(reported, for: short, longestAnswer: 4_096) == reported)
        #expect(TokenEstimate.plausible(reported, for: short, longestAnswer: 3_000) == TokenUsage(input: 90))
    }

    @Test("an input has no more tokens than the prompt has bytes, and what providers add")
    func input() {
        let limit = 4 * 100 + 8_192
        for (input, cached) in [(limit, nil), (limit - 50, 50), (0, limit)] as [(Int, Int?)] {
            let reported = TokenUsage(input: input, cachedInput: cached, output: 5)
            #expect(TokenEstimate.plausible(reported, for: short) == reported)
            let more = TokenUsage(input: input + 1, cachedInput: cached, cacheWrite: 0, output: 5, isPartial: true)
            #expect(TokenEstimate.plausible(more, for: short) == TokenUsage(output: 5, isPartial: true))
        }
    }

    @Test("no prompt and no text have 0 tokens; a count in the middle of an answer may be 0")
    func zero() {
        #expect(TokenEstimate.plausible(TokenUsage(input: 0, output: 5), for: short) == TokenUsage(output: 5))
        #expect(TokenEstimate.plausible(TokenUsage(input: 0, cachedInput: 0, output: 0, reasoning: 0), for: short) == TokenUsage())
        for reported in [
            TokenUsage(input: 0, cachedInput: 90, output: 0, reasoning: 5), TokenUsage(input: 0, output: 0, isPartial: true),
        ] {
            #expect(TokenEstimate.plausible(reported, for: short) == reported)
        }
        var silent = short
        silent.output = 0
        #expect(TokenEstimate.plausible(TokenUsage(input: 90, output: 0), for: silent) == TokenUsage(input: 90, output: 0))
    }

    @Test("what is unknown stays unknown")
    func unknown() {
        #expect(TokenEstimate.plausible(TokenUsage(), for: TokenUsage()) == TokenUsage())
        let reasoning = TokenUsage(reasoning: 9, isPartial: true)
        #expect(TokenEstimate.plausible(reasoning, for: short) == reasoning)
    }
}
