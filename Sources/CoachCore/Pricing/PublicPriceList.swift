import JSON

/// Reads the widely used `model_prices_and_context_window.json` (LiteLLM): an object of models with US dollars per token as numbers.
public enum PublicPriceList {
    /// The prices of the chat models of some providers.
    /// - Parameters:
    ///   - providers: the file's names (`litellm_provider`) with those of `deploy/models.json`.
    ///   - skipped: models of these providers whose prices cannot be used, with the reason.
    ///   - ignored: prices that are not used, of models whose other prices are, and further entries of a model.
    ///   - free: models that have a price of 0, which may mean that the list does not know it.
    public static func read(
        _ file: [UInt8], providers: [String: String], validFrom: CalendarDay
    ) throws(JSONError) -> (prices: [Price], skipped: [String], ignored: [String], free: [String]) {
        let list = try JSONDocument(parsing: file).value
        var prices: [Price] = []
        var skipped: [String] = []
        var ignored: [String] = []
        var free: [String] = []
        var names: Set<ModelName> = []
        for member in list.members ?? [] {
            guard let owner = member.value["litellm_provider"]?.string, let provider = providers[owner],
                ["chat", "completion", "responses"].contains(member.value["mode"]?.string ?? "chat")
            else { continue }
            // "gemini/gemini-2.5-pro" is the model gemini-2.5-pro of the provider gemini.
            let model = member.key.hasPrefix("\(owner)/") ? String(member.key.dropFirst(owner.count + 1)) : member.key
            let tiers: [Price.ContextTier]
            switch Self.tiers(of: member.value) {
            case .success(let found): tiers = found
            case .failure(let reason):
                skipped.append("\(member.key): \(reason.text)")
                continue
            }
            // Some models stand in the file with their provider's name and without it. A price list has one row of each.
            guard names.insert(ModelName(provider: provider, model: model)).inserted else {
                ignored.append("\(member.key): \(model) of \(provider) stands before it")
                continue
            }
            if tiers.contains(where: { $0.rates.input.raw == 0 || $0.rates.output.raw == 0 }) {
                free.append("\(member.key): its price of input or output is 0")
            }
            if let times = member.value["off_peak_pricing"], times != .null {
                ignored.append("\(member.key): off_peak_pricing; its price is that of all hours")
            }
            prices.append(
                Price(provider: provider, model: model, validFrom: validFrom, rates: tiers[0].rates, contextTiers: Array(tiers.dropFirst()))
            )
        }
        return (prices, skipped, ignored, free)
    }

    /// Why the prices of a model cannot be used.
    private struct Unusable: Error {
        let text: String
    }

    /// The prices of prompts by their size: of those above 0 tokens, and of those above each limit; at least one.
    private static func tiers(of model: JSONValue) -> Result<[Price.ContextTier], Unusable> {
        if let ranges = model["tiered_pricing"]?.elements, !ranges.isEmpty { return tiers(of: ranges) }
        guard let rates = rates(model, above: "") else { return .failure(Unusable(text: "no exact price of input and output")) }
        var tiers = [Price.ContextTier(above: 0, rates: rates)]
        // xAI's prices of long prompts begin at the limit, those of the others above it.
        let isInclusive = model["litellm_provider"]?.string == "xai"
        for limit in thresholds(model) {
            guard let rates = Self.rates(model, above: limit.suffix) else {
                return .failure(Unusable(text: "a price of long prompts is not exact"))
            }
            tiers.append(Price.ContextTier(above: isInclusive ? limit.tokens - 1 : limit.tokens, rates: rates))
        }
        return .success(tiers)
    }

    /// `tiered_pricing`: prices of ranges, each with more tokens than its first number and at most its second.
    private static func tiers(of ranges: [JSONValue]) -> Result<[Price.ContextTier], Unusable> {
        func tokens(_ value: JSONValue?) -> Int? { value.flatMap { $0.integer.map { Int($0) } ?? $0.number.flatMap { Int(exactly: $0) } } }
        var tiers: [Price.ContextTier] = []
        var end: Int? = 0
        for range in ranges {
            let bounds = range["range"]?.elements ?? []
            guard bounds.count == 2, let start = tokens(bounds[0]), start == end else {
                return .failure(Unusable(text: "its tiered_pricing has no ranges that follow each other"))
            }
            guard let rates = rates(range, above: "") else {
                return .failure(Unusable(text: "a price of its tiered_pricing is not exact, or missing"))
            }
            tiers.append(Price.ContextTier(above: start, rates: rates))
            end = tokens(bounds[1])
        }
        return .success(tiers)
    }

    /// The sizes of prompts from which other prices hold: `input_cost_per_token_above_200k_tokens`.
    private static func thresholds(_ model: JSONValue) -> [(tokens: Int, suffix: String)] {
        (model.members ?? []).compactMap { member in
            guard member.key.hasPrefix("input_cost_per_token_above_"), member.key.hasSuffix("k_tokens") else { return nil }
            let number = member.key.dropFirst("input_cost_per_token_above_".count).dropLast("k_tokens".count)
            return Int(number).map { ($0 * 1_000, "_above_\(number)k_tokens") }
        }.sorted { $0.tokens < $1.tokens }
    }

    /// nil when a price is not a whole number of picodollars, or there is none for input or output. Prices that hold for long prompts as for short
    /// ones are not repeated in the file; reasoning tokens are output unless they have a price, and cached ones input.
    private static func rates(_ model: JSONValue, above suffix: String) -> Price.Rates? {
        var isExact = true
        func price(_ name: String) -> PicodollarsPerToken? {
            guard let value = model[name + suffix] ?? model[name], value != .null else { return nil }
            // The shortest text of a double is the text of the file, which has few digits.
            let price = PicodollarsPerToken(dollarsPerToken: value.integer.map(String.init) ?? value.number?.description ?? "")
            if price == nil { isExact = false }
            return price
        }
        guard let input = price("input_cost_per_token"), let output = price("output_cost_per_token") else { return nil }
        let rates = Price.Rates(
            input: input, output: output, cachedInput: price("cache_read_input_token_cost") ?? input,
            cacheWrite: price("cache_creation_input_token_cost") ?? input, reasoning: price("output_cost_per_reasoning_token") ?? output)
        return isExact ? rates : nil
    }
}
