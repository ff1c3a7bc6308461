import CoachCore
import Testing

@Suite("Price")
struct PriceTests {
    let price = Price(
        provider: "p", model: "m", validFrom: .init(unixSeconds: 0),
        rates: .init(
            input: .init(150_000), output: .init(600_000), cachedInput: .init(75_000), cacheWrite: .init(187_500),
            reasoning: .init(600_000)))

    @Test("a decimal price is parsed exactly, down to one picodollar per token")
    func parsing() {
        let good: [(String, Int64)] = [
            ("1", 1_000_000), ("0.15", 150_000), ("10.00", 10_000_000), ("0.000001", 1), ("0", 0),
            ("999999999.999999", 999_999_999_999_999),
        ]
        for (text, raw) in good { #expect(PicodollarsPerToken(dollarsPerMillionTokens: text)?.raw == raw) }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "0.0000010", "1,5", " 1", "1 ", "1.2.3", "1234567890", "٣"] {
            #expect(PicodollarsPerToken(dollarsPerMillionTokens: text) == nil, "\(text)")
        }
    }

    @Test("each token class has its own price")
    func classes() {
        let usage = TokenUsage(input: 100, cachedInput: 200, cacheWrite: 40, output: 300, reasoning: 50)
        // 100×150000 + 200×75000 + 40×187500 + 300×600000 + 50×600000 = 247_500_000 picodollars
        #expect(price.cost(of: usage) == Nanodollars(247_500))
    }

    @Test("a long prompt, cached tokens included, has other rates for all of the call")
    func contextTiers() {
        var price = price
        price.contextTiers = [
            .init(above: 100, rates: .init(input: .init(1_000_000), output: .init(2_000_000), cachedInput: .init(500_000))),
            .init(above: 1_000, rates: .init(input: .init(3_000_000), output: .init(3_000_000))),
        ]
        #expect(price.cost(of: .init(input: 60, cachedInput: 40, output: 10)) == Nanodollars(60 * 150 + 40 * 75 + 10 * 600))
        #expect(price.cost(of: .init(input: 61, cachedInput: 40, output: 10)) == Nanodollars(61 * 1_000 + 40 * 500 + 10 * 2_000))
        #expect(price.cost(of: .init(input: 1_001, output: 1)) == Nanodollars(1_002 * 3_000))
        #expect(price.cost(of: .init(input: 1_000, cachedInput: 1, output: 1)) == nil, "the tier has no price of cached tokens")
    }

    @Test("prices per token are parsed exactly, in scientific notation, too, and written as they are parsed")
    func perToken() {
        let good: [(String, Int64, String)] = [
            ("1.5e-07", 150_000, "0.15"), ("0.00000015", 150_000, "0.15"), ("2.5E-6", 2_500_000, "2.5"), ("1e-12", 1, "0.000001"),
            ("0", 0, "0"), ("0.0", 0, "0"), ("1e-05", 10_000_000, "10"), ("7.5e-08", 75_000, "0.075"),
        ]
        for (text, raw, million) in good {
            #expect(PicodollarsPerToken(dollarsPerToken: text)?.raw == raw, "\(text)")
            #expect(PicodollarsPerToken(raw).dollarsPerMillionTokens == million)
            #expect(PicodollarsPerToken(dollarsPerMillionTokens: million)?.raw == raw)
        }
        for text in ["", "-1e-6", "1e-13", "1.5e-12", "1e99", "e-6", "nan", "1e", ".", "1e-6.0", "1000000"] {
            #expect(PicodollarsPerToken(dollarsPerToken: text) == nil, "\(text)")
        }
    }

    @Test("the sum is rounded once, half up")
    func rounding() {
        let one = Price(provider: "p", model: "m", validFrom: .init(unixSeconds: 0), rates: .init(input: .init(250), output: .init(250)))
        #expect(one.cost(of: .init(input: 1, output: 0)) == Nanodollars(0))
        #expect(one.cost(of: .init(input: 1, output: 1)) == Nanodollars(1))
        #expect(one.cost(of: .init(input: 2, output: 3)) == Nanodollars(1))
        #expect(one.cost(of: .init(input: 3, output: 3)) == Nanodollars(2))
    }

    @Test("an unknown input or output count makes the cost unknown")
    func unknownCounts() {
        #expect(price.cost(of: .init(input: nil, output: 5)) == nil)
        #expect(price.cost(of: .init(input: 5, output: nil)) == nil)
        #expect(price.cost(of: .init()) == nil)
    }

    @Test("a cached or reasoning class that the provider does not report costs nothing")
    func innerClasses() {
        #expect(price.cost(of: .init(input: 10, output: 10)) == price.cost(of: .init(input: 10, cachedInput: 0, output: 10, reasoning: 0)))
    }

    @Test("tokens of a class without a price make the call unpriced; zero tokens do not")
    func unpricedClass() {
        let plain = Price(
            provider: "p", model: "m", validFrom: .init(unixSeconds: 0), rates: .init(input: .init(1000), output: .init(1000)))
        #expect(plain.cost(of: .init(input: 1, cachedInput: 1, output: 1)) == nil)
        #expect(plain.cost(of: .init(input: 1, output: 1, reasoning: 1)) == nil)
        #expect(plain.cost(of: .init(input: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0)) == Nanodollars(2))
    }

    @Test("negative counts and sums beyond 64 bits are unpriced, not wrong")
    func overflow() {
        #expect(price.cost(of: .init(input: -1, output: 1)) == nil)
        #expect(price.cost(of: .init(input: .max, output: 1)) == nil)
        #expect(price.cost(of: .init(input: 61_000_000_000_000, output: 1_000_000_000_000)) == nil)
    }
}
