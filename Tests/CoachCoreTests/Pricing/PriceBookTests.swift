import CoachCore
import Foundation
import Testing

@Suite("PriceBook")
struct PriceBookTests {
    let day = CalendarDay("2026-03-01")!

    func price(
        _ model: String, _ raw: Int64, _ match: Price.Match = .exact, from: String = "2025-01-01", provider: String = "p"
    ) -> Price {
        Price(
            provider: provider, model: model, match: match, validFrom: CalendarDay(from)!,
            rates: .init(input: .init(raw), output: .init(raw)))
    }

    func input(_ book: PriceBook, _ model: String, provider: String = "p", on day: String = "2026-03-01") -> Int64? {
        book.price(of: ModelName(provider: provider, model: model), on: CalendarDay(day)!)?.rates.input.raw
    }

    @Test("the newest valid price is used, in any order of the list")
    func validity() {
        let book = PriceBook([price("m", 3, from: "2026-03-01"), price("m", 1, from: "2025-01-01"), price("m", 4, from: "2026-04-01")])
        #expect(input(book, "m", on: "2024-12-31") == nil)
        #expect(input(book, "m", on: "2025-01-01") == 1)
        #expect(input(book, "m", on: "2026-02-28") == 1)
        #expect(input(book, "m", on: "2026-03-01") == 3)
        #expect(input(book, "m", on: "2026-03-31") == 3)
        #expect(input(book, "m", on: "2030-01-01") == 4)
    }

    @Test("after the last day of a special price the standing one holds again, until a newer one begins")
    func special() {
        var special = price("m", 2, from: "2026-01-01")
        special.validTo = CalendarDay("2026-02-28")!
        let book = PriceBook([special, price("m", 1), price("m", 3, from: "2026-04-01")])
        #expect(input(book, "m", on: "2025-12-31") == 1)
        #expect(input(book, "m", on: "2026-02-28") == 2)
        #expect(input(book, "m", on: "2026-03-01") == 1)
        #expect(input(book, "m", on: "2026-04-01") == 3)
        // Of one name among those of a prefix, and of a longer prefix.
        #expect(input(PriceBook([special, price("", 1, .prefix)]), "m", on: "2026-03-01") == 1)
        special.match = .prefix
        let prefixes = PriceBook([special, price("", 1, .prefix)])
        #expect(input(prefixes, "mini", on: "2026-02-28") == 2 && input(prefixes, "mini", on: "2026-03-01") == 1)
    }

    @Test("after its last day a price is none where no other one holds")
    func ended() {
        var ended = price("m", 2, from: "2026-01-01")
        ended.validTo = CalendarDay("2026-02-28")!
        let book = PriceBook([ended, price("m", 3, from: "2026-04-01")])
        #expect(input(book, "m", on: "2026-02-28") == 2)
        #expect(input(book, "m", on: "2026-03-01") == nil)
        #expect(input(book, "m", on: "2026-04-01") == 3)
    }

    @Test("an exact name has precedence over prefixes, and the longest prefix over shorter ones; an exact entry does not match as a prefix")
    func matching() {
        let book = PriceBook([
            price("gpt-", 1, .prefix), price("gpt-4.1-", 2, .prefix), price("gpt-4.1-mini", 3), price("gpt-5", 4),
        ])
        #expect(input(book, "gpt-4.1-mini") == 3)
        #expect(input(book, "gpt-4.1-mini-2025-04-14") == 2)
        #expect(input(book, "gpt-5") == 4)
        #expect(input(book, "gpt-5-mini") == 1)
        #expect(input(book, "claude") == nil)
    }

    @Test("a longer prefix that is not yet valid does not hide the shorter one")
    func prefixValidity() {
        let book = PriceBook([price("a", 1, .prefix), price("ab", 2, .prefix, from: "2027-01-01")])
        #expect(input(book, "abc") == 1)
        #expect(input(book, "abc", on: "2027-01-01") == 2)
    }

    @Test("a price is for one provider only")
    func provider() {
        #expect(input(PriceBook([price("m", 1)]), "m", provider: "q") == nil)
    }

    @Test("an unpriced model has no cost, not cost zero")
    func unpriced() {
        let name = ModelName(provider: "p", model: "m")
        #expect(PriceBook([]).cost(of: .init(input: 1, output: 1), at: name, on: day) == nil)
        #expect(PriceBook([price("m", 0)]).cost(of: .init(input: 1, output: 1), at: name, on: day) == Nanodollars(0))
    }

    @Test("only a report at the end of an answer is billed as it is; else the estimate, raised to what was reported")
    func bills() {
        let name = ModelName(provider: "p", model: "m")
        let estimate = TokenUsage(input: 40, cachedInput: 0, cacheWrite: 0, output: 30, reasoning: 6)
        func bill(_ reported: TokenUsage, _ reasoning: PicodollarsPerToken? = nil) -> TurnBill {
            let rates = Price.Rates(
                input: .init(1_000), output: .init(1_000), cachedInput: .init(1_000), cacheWrite: .init(1_000), reasoning: reasoning)
            let price = Price(provider: "p", model: "m", validFrom: CalendarDay("2025-01-01")!, rates: rates)
            return PriceBook([price]).bill(of: name, on: day, reported: reported, estimate: estimate)
        }
        let whole = bill(TokenUsage(input: 5, output: 1))
        #expect(!whole.estimated && whole.usage == TokenUsage(input: 5, output: 1) && whole.cost == Nanodollars(6))
        // A count of the prompt that cannot be true: that of the answer is billed all the same.
        let half = bill(TokenUsage(output: 10, reasoning: 0), .init(1_000))
        #expect(half.estimated && half.usage == TokenUsage(input: 40, cachedInput: 0, cacheWrite: 0, output: 10, reasoning: 0))
        let otherHalf = bill(TokenUsage(input: 7, cachedInput: 3), .init(1_000))
        #expect(otherHalf.estimated && otherHalf.usage == TokenUsage(input: 7, cachedInput: 3, output: 30, reasoning: 6))
        // Anthropic's `message_start`.
        let cut = bill(TokenUsage(input: 5, cachedInput: 90, cacheWrite: 0, output: 1, isPartial: true), .init(1_000))
        #expect(cut.estimated && cut.usage == TokenUsage(input: 5, cachedInput: 90, cacheWrite: 0, output: 30, reasoning: 6))
        #expect(cut.cost == Nanodollars(131))
        // Without a price of reasoning it is output.
        #expect(bill(TokenUsage()).usage == TokenUsage(input: 40, cachedInput: 0, cacheWrite: 0, output: 36, reasoning: 0))
        #expect(bill(TokenUsage()).cost == Nanodollars(76))
        let long = bill(TokenUsage(input: 5, output: 20, reasoning: 40, isPartial: true), .init(1_000))
        #expect(long.estimated && long.usage == TokenUsage(input: 5, output: 30, reasoning: 40))
        let written = bill(TokenUsage(input: 5, output: 50, reasoning: 2, isPartial: true), .init(1_000))
        #expect(written.usage == TokenUsage(input: 5, output: 50, reasoning: 6))
        let together = bill(TokenUsage(input: 5, output: 50, isPartial: true), .init(1_000))
        #expect(together.usage == TokenUsage(input: 5, output: 50, reasoning: 0))
        let zero = bill(TokenUsage(input: 5, output: 50, reasoning: 0, isPartial: true), .init(1_000))
        #expect(zero.usage == TokenUsage(input: 5, output: 50, reasoning: 0))
        let thinking = bill(TokenUsage(input: 5, reasoning: 90, isPartial: true), .init(1_000))
        // Gemini, cut after it has counted its thoughts: the text that was sent is billed as well.
        #expect(thinking.estimated && thinking.usage == TokenUsage(input: 5, output: 30, reasoning: 90))
    }

    @Test("all findings of a file are reported")
    func findings() {
        let file = """
            {"unit": "usd", "price": [], "prices": [
              {"provider": "p", "model": "", "valid_from": "2026-02-30", "input": 0.15, "output": "0.6"},
              {"provider": "p", "model": "m", "valid_from": "2026-02-01", "input": "1", "output": "1", "cachedinput": "1", "match": "regex"},
              {"provider": "p", "model": "n", "valid_from": "2026-02-01", "input": "1", "output": "1"},
              {"provider": "p", "model": "n", "valid_from": "2026-02-01", "input": "1", "output": "2"},
              {"model": "n"}
            ]}
            """
        let (book, findings) = PriceBook.read(file.utf8)
        #expect(book == nil)
        #expect(
            findings == [
                "prices: unit must be \"usd_per_million_tokens\"",
                "prices: prices[0].model must not be empty",
                "prices: prices[0].valid_from must be a date like \"2026-01-31\"",
                "prices: prices[0].input must be of type string",
                "prices: prices[1].match must be exact or prefix",
                "prices: prices[1].cachedinput is unknown",
                "prices: prices[3] is a second price of p n from 2026-02-01 on",
                "prices: prices[4].provider is required",
                "prices: prices[4].valid_from is required",
                "prices: prices[4].input is required",
                "prices: prices[4].output is required",
                "prices: price is unknown",
            ])
        #expect(PriceBook.read("[]".utf8).findings == ["prices: must be of type object"])
        #expect(PriceBook.read("{".utf8).book == nil)
    }

    @Test("the shipped price file is valid and has prices of the simulator")
    func shipped() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../deploy/prices.json").standardized
        let (book, findings) = PriceBook.read(try Data(contentsOf: file))
        #expect(findings == [])
        let usage = TokenUsage(input: 1000, cachedInput: 0, output: 1000, reasoning: 0)
        #expect(book?.cost(of: usage, at: .init(provider: "simulator", model: "sim-coach-1"), on: day) == Nanodollars(750_000))
        #expect(book?.cost(of: usage, at: .init(provider: "openai", model: "gpt-4.1-mini"), on: day) == Nanodollars(2_000_000))
    }

    @Test("calendar days are converted to and from text and seconds")
    func calendar() {
        #expect(CalendarDay("1970-01-01")?.daysSinceEpoch == 0)
        #expect(CalendarDay("2000-03-01")?.daysSinceEpoch == 11_017)
        #expect(CalendarDay(unixSeconds: 1_767_225_599).description == "2025-12-31")
        #expect(CalendarDay(unixSeconds: 1_767_225_600).description == "2026-01-01")
        #expect(CalendarDay(unixSeconds: -1).description == "1969-12-31")
        for text in ["2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "26-01-01", "2026/01/01", "2026-01-00", "", "2026-01-01 "] {
            #expect(CalendarDay(text) == nil, "\(text)")
        }
        for days in stride(from: -1000, to: 40_000, by: 7) {
            let day = CalendarDay(unixSeconds: days * 86_400 + 5)
            #expect(CalendarDay(day.description) == day)
        }
    }

    @Test("an estimate counts a quarter of ASCII bytes and half of the others, rounded up")
    func estimate() {
        #expect(TokenEstimate.tokens(in: "".utf8) == 0)
        #expect(TokenEstimate.tokens(in: "a".utf8) == 1)
        #expect(TokenEstimate.tokens(in: "abcd".utf8) == 1)
        #expect(TokenEstimate.tokens(in: "abcde".utf8) == 2)
        #expect(TokenEstimate.tokens(in: "привет".utf8) == 6)
        let prompt = Prompt(messages: [.init(role: .user, content: "abcd")], maximumOutputTokens: 10)
        #expect(TokenEstimate.usage(promptTokens: TokenEstimate.tokens(in: prompt), answer: "abcdefgh".utf8).totalInput == 8)
        #expect(TokenEstimate.usage(promptTokens: TokenEstimate.tokens(in: prompt), answer: "abcdefgh".utf8).totalOutput == 2)
    }
}
