import CoachCore
import Foundation
import JSON
import TestSupport
import Testing

@Suite("The public price list")
struct PublicPriceListTests {
    private static let file = """
        {"sample_spec": {"input_cost_per_token": 0.0, "litellm_provider": "one of …", "mode": "one of …"},
         "gpt-4o": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
            "cache_read_input_token_cost": 1.25e-06, "supports_vision": true, "off_peak_pricing": {"windows": []}},
         "gemini/gemini-2.5-pro": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 1.25e-06,
            "input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token": 1e-05,
            "output_cost_per_token_above_200k_tokens": 1.5e-05, "cache_read_input_token_cost": 3.1e-07,
            "output_cost_per_reasoning_token": 9e-06},
         "dall-e-3": {"litellm_provider": "openai", "mode": "image_generation", "input_cost_per_pixel": 1e-08},
         "odd": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.23456789e-10, "output_cost_per_token": 0},
         "free": {"litellm_provider": "openai", "mode": "chat", "output_cost_per_token": 0},
         "other": {"litellm_provider": "mistral", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06}}
        """

    @Test("is read exactly, with prices of long prompts, and that of input for a cache without one; the rest is skipped or named")
    func read() throws {
        let (prices, skipped, ignored, free) = try PublicPriceList.read(
            Array(Self.file.utf8), providers: ["openai": "openai", "gemini": "google"], validFrom: CalendarDay("2026-11-01")!)
        #expect(prices.map(\.model) == ["gpt-4o", "gemini-2.5-pro"] && prices.map(\.provider) == ["openai", "google"])
        #expect(
            prices[0].rates
                == .init(
                    input: .init(2_500_000), output: .init(10_000_000), cachedInput: .init(1_250_000), cacheWrite: .init(2_500_000),
                    reasoning: .init(10_000_000)))
        #expect(prices[1].contextTiers.map(\.above) == [200_000])
        #expect(
            prices[1].contextTiers[0].rates
                == .init(
                    input: .init(2_500_000), output: .init(15_000_000), cachedInput: .init(310_000), cacheWrite: .init(2_500_000),
                    reasoning: .init(9_000_000)))
        #expect(skipped.map { $0.prefix { $0 != ":" } } == ["odd", "free"])
        #expect(free.isEmpty)
        #expect(ignored == ["gpt-4o: off_peak_pricing; its price is that of all hours"])
        // As rows of the price list it is the same.
        let rows = JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("unit", "usd_per_million_tokens")
                writer.key("prices")
                writer.array { writer in
                    for price in prices { price.write(source: "test", to: &writer) }
                }
            }
        }
        let (book, findings) = PriceBook.read(rows)
        #expect(findings.isEmpty && book == PriceBook(prices))
    }

    @Test("a model that stands in the list with its provider's name and without it has one row, and the second entry is named")
    func twice() throws {
        func entry(_ key: String, _ owner: String, _ input: String) -> String {
            #""\#(key)": {"litellm_provider": "\#(owner)", "input_cost_per_token": \#(input), "output_cost_per_token": 4e-07}"#
        }
        let file = """
            {\(entry("deepseek-chat", "deepseek", "2e-07")), \(entry("deepseek/deepseek-chat", "deepseek", "3e-07")),
             \(entry("vertex/deepseek-chat", "vertex", "3e-07")), \(entry("deepseek/other", "deepseek", "3e-07"))}
            """
        let (prices, skipped, ignored, _) = try PublicPriceList.read(
            Array(file.utf8), providers: ["deepseek": "deepseek", "vertex": "google"], validFrom: CalendarDay("2026-11-01")!)
        #expect(prices.map(\.model) == ["deepseek-chat", "deepseek-chat", "other"])
        #expect(prices.map(\.provider) == ["deepseek", "google", "deepseek"])
        #expect(prices[0].rates.input == .init(200_000) && skipped.isEmpty)
        #expect(ignored == ["deepseek/deepseek-chat: deepseek-chat of deepseek stands before it"])
    }

    @Test("prices of long prompts hold above their limit, those of xAI from it on", arguments: [("openai", 128_000), ("xai", 127_999)])
    func limit(_ provider: String, _ above: Int) throws {
        let file = """
            {"m": {"litellm_provider": "\(provider)", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
                "input_cost_per_token_above_128k_tokens": 6e-06, "output_cost_per_token_above_128k_tokens": 3e-05}}
            """
        let prices = try PublicPriceList.read(Array(file.utf8), providers: [provider: provider], validFrom: CalendarDay("2026-11-01")!)
            .prices
        #expect(prices.map { $0.contextTiers.map(\.above) } == [[above]])
    }

    @Test("prices of ranges of prompts are those of context tiers; ranges with gaps are skipped, and a price of 0 is named")
    func ranges() throws {
        func model(_ ranges: String...) -> String {
            let list = ranges.map { #"{"range": [\#($0)], "input_cost_per_token": 4e-07, "output_cost_per_token": 1.6e-06}"# }
            return #"{"litellm_provider": "dashscope", "mode": "chat", "tiered_pricing": [\#(list.joined(separator: ","))]}"#
        }
        let file = """
            {"dashscope/qwen": {"litellm_provider": "dashscope", "mode": "chat", "tiered_pricing": [
                {"range": [0, 32000.0], "input_cost_per_token": 4e-07, "output_cost_per_token": 1.6e-06, "cache_read_input_token_cost": 8e-08},
                {"range": [32000.0, 256000], "input_cost_per_token": 6e-07, "output_cost_per_token": 2.4e-06,
                 "output_cost_per_reasoning_token": 4e-06}]},
             "open": \(model("0, 1000", "1000, null")), "gap": \(model("0, 1000", "2000, 3000")), "late": \(model("1000, null")),
             "unending": \(model("0, null", "1000, 2000")),
             "gift": {"litellm_provider": "dashscope", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 1e-06}}
            """
        let (prices, skipped, ignored, free) = try PublicPriceList.read(
            Array(file.utf8), providers: ["dashscope": "qwen"], validFrom: CalendarDay("2026-11-01")!)
        #expect(prices.map(\.model) == ["qwen", "open", "gift"] && ignored.isEmpty)
        #expect(skipped.map { $0.prefix { $0 != ":" } } == ["gap", "late", "unending"])
        #expect(free == ["gift: its price of input or output is 0"])
        #expect(prices[0].rates.cachedInput == .init(80_000) && prices[0].contextTiers.map(\.above) == [32_000])
        let usage = TokenUsage(input: 31_000, cachedInput: 1_000, cacheWrite: 0, output: 10, reasoning: 0)
        #expect(prices[0].cost(of: usage) == Nanodollars(31_000 * 400 + 1_000 * 80 + 10 * 1_600))
        var longer = usage
        longer.cachedInput = 1_001
        longer.reasoning = 5
        #expect(prices[0].cost(of: longer) == Nanodollars(32_001 * 600 + 10 * 2_400 + 5 * 4_000))
    }

    @Test("costs equal those of Python's decimal, to the last nanodollar")
    func decimals() throws {
        var random = SystemRandomNumberGenerator()
        func price() -> Int64 { .random(in: 0...50_000_000, using: &random) }
        func tokens() -> Int {
            Bool.random(using: &random) ? .random(in: 0...50, using: &random) : .random(in: 0...3_000_000, using: &random)
        }
        func rates() -> Price.Rates {
            .init(
                input: .init(price()), output: .init(price()), cachedInput: .init(price()), cacheWrite: .init(price()),
                reasoning: .init(price()))
        }
        func line(_ rates: Price.Rates) -> String {
            [rates.input, rates.cachedInput, rates.cacheWrite, rates.output, rates.reasoning]
                .map { $0?.dollarsPerMillionTokens ?? "" }.joined(separator: " ")
        }
        var lines: [String] = []
        var costs: [String] = []
        for _ in 0..<2_000 {
            let price = Price(
                provider: "p", model: "m", validFrom: CalendarDay(daysSinceEpoch: 0), rates: rates(),
                contextTiers: [.init(above: 200_000, rates: rates())])
            let usage = TokenUsage(input: tokens(), cachedInput: tokens(), cacheWrite: tokens(), output: tokens(), reasoning: tokens())
            let counts = [usage.input, usage.cachedInput, usage.cacheWrite, usage.output, usage.reasoning].map { String($0 ?? 0) }
            lines.append(([line(price.rates), line(price.contextTiers[0].rates)] + counts).joined(separator: " "))
            costs.append(try #require(price.cost(of: usage)).raw.description)
        }
        let path = FileManager.default.temporaryDirectory.appending(path: "prices-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
        let program = """
            import decimal, sys
            decimal.getcontext().prec = 60
            for line in open(sys.argv[1]):
                words = line.split()
                counts = [int(word) for word in words[10:]]
                rates = words[5:10] if sum(counts[:3]) > 200000 else words[:5]
                dollars = sum(decimal.Decimal(rate) * count for rate, count in zip(rates, counts)) / 1000000
                print((dollars * 10**9).to_integral_value(rounding=decimal.ROUND_HALF_UP))
            """
        let output = try ChildProcess.run(["python3", "-c", program, path])
        #expect(output.split(separator: "\n").map(String.init) == costs)
    }
}
