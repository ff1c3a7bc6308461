import JSON

extension PriceBook {
    /// Parses and validates `deploy/prices.json`. `book` is nil exactly when `findings` is not empty.
    ///
    /// Unknown members are findings: a misspelt token class must not become a class without a price.
    public static func read(_ file: some Sequence<UInt8>) -> (book: PriceBook?, findings: [String]) {
        let bytes = Array(file)
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONValue(parsing: bytes)
        } catch {
            return (nil, ["prices: \(error.text(in: bytes))"])
        }
        guard root.members != nil else { return (nil, ["prices: not a JSON object"]) }
        var reader = PriceReader()
        let prices = reader.prices(root)
        return reader.findings.isEmpty ? (PriceBook(prices), []) : (nil, reader.findings)
    }
}

private struct PriceReader {
    private(set) var findings: [String] = []
    private var seen: Set<[String]> = []

    mutating func prices(_ root: JSONValue) -> [Price] {
        expect(root, "prices", required: ["unit", "prices"], optional: ["note"])
        if root["unit"]?.string != "usd_per_million_tokens" {
            findings.append("prices: unit must be \"usd_per_million_tokens\"")
        }
        guard let rows = root["prices"]?.elements, rows.allSatisfy({ $0.members != nil }) else {
            findings.append("prices: prices must be a list of objects")
            return []
        }
        return rows.enumerated().compactMap { price($1, "prices[\($0)]") }
    }

    private mutating func price(_ row: JSONValue, _ place: String) -> Price? {
        expect(
            row, place, required: ["provider", "model", "valid_from", "input", "output"],
            optional: ["match", "cached_input", "cache_write", "reasoning", "source"])
        let provider = text(row, "provider", place)
        let model = text(row, "model", place)
        let day: CalendarDay? = value(row, "valid_from", place, "a date like \"2026-01-31\"") { CalendarDay($0) }
        let match = row["match"] == nil ? .exact : value(row, "match", place, "\"exact\" or \"prefix\"") { Price.Match(rawValue: $0) }
        var classes: [String: PicodollarsPerToken] = [:]
        for name in ["input", "cached_input", "cache_write", "output", "reasoning"] where row[name] != nil {
            classes[name] = value(row, name, place, "a decimal in quotes with at most six places, like \"0.075\"") {
                PicodollarsPerToken(dollarsPerMillionTokens: $0)
            }
        }
        guard let provider, let model, let day, let match, let input = classes["input"], let output = classes["output"] else { return nil }
        if !seen.insert([provider, model, match.rawValue, day.description]).inserted {
            findings.append("\(place): a second price of \(provider) \(model) from \(day) on")
        }
        return Price(
            provider: provider, model: model, match: match, validFrom: day, input: input, output: output,
            cachedInput: classes["cached_input"], cacheWrite: classes["cache_write"], reasoning: classes["reasoning"])
    }

    private mutating func expect(_ object: JSONValue, _ place: String, required: [String], optional: [String]) {
        for name in required where object[name] == nil { findings.append("\(place): \(name) is missing") }
        for name in (object.members ?? []).map(\.key).sorted() where !required.contains(name) && !optional.contains(name) {
            findings.append("\(place): unknown member \(name)")
        }
    }

    private mutating func text(_ object: JSONValue, _ name: String, _ place: String) -> String? {
        value(object, name, place, "a text that is not empty") { $0.isEmpty ? nil : $0 }
    }

    /// nil without a finding when the member is missing: `expect` reports missing members.
    private mutating func value<Value>(
        _ object: JSONValue, _ name: String, _ place: String, _ expected: String, _ parse: (String) -> Value?
    ) -> Value? {
        guard let raw = object[name] else { return nil }
        if let text = raw.string, let value = parse(text) { return value }
        findings.append("\(place): \(name) must be \(expected)")
        return nil
    }
}
