import JSON

extension PriceBook: JSONReadable {
    /// Parses and validates `deploy/prices.json`. `book` is nil exactly when `findings` is not empty.
    ///
    /// Unknown members are findings: a misspelt token class must not become a class without a price.
    public static func read(_ file: some Sequence<UInt8>) -> (book: PriceBook?, findings: [String]) {
        let (book, findings) = JSONReader.collect(Array(file)) { (root) throws(JSONFinding) in try PriceBook(root) }
        return (book, findings.map { "prices: \($0)" })
    }

    public init(_ root: JSONReader) throws(JSONFinding) { self.init(try Self.prices(root)) }

    private static func prices(_ root: JSONReader) throws(JSONFinding) -> [Price] {
        let unit = "usd_per_million_tokens"
        _ = try root.required("unit", .parsed("\"\(unit)\"", placeholder: unit) { $0 == unit ? unit : nil })
        var prices: [Price] = []
        var seen: Set<[String]> = []
        for row in try root.elements("prices", 0...100_000) {
            let price = try Price(row)
            let day = price.validFrom.description
            if row.isSound, !seen.insert([price.provider, price.model, price.match.rawValue, day]).inserted {
                try row.report(.invalid("is a second price of \(price.provider) \(price.model) from \(day) on"))
            }
            prices.append(price)
        }
        try root.rejectUnknown(besides: ["note"])
        return prices
    }
}

extension Price {
    fileprivate init(_ row: JSONReader) throws(JSONFinding) {
        self.init(
            provider: try row.required("provider", .text(1...200)), model: try row.required("model", .text(1...200)),
            match: try row.optional("match", .choice) ?? .exact, validFrom: try row.required("valid_from"),
            input: try row.required("input", .price), output: try row.required("output", .price),
            cachedInput: try row.optional("cached_input", .price), cacheWrite: try row.optional("cache_write", .price),
            reasoning: try row.optional("reasoning", .price))
        try row.rejectUnknown(besides: ["source"])
    }
}

extension JSONField<PicodollarsPerToken> {
    fileprivate static var price: Self {
        .parsed("a decimal in quotes with at most six places, like \"0.075\"", placeholder: PicodollarsPerToken(0)) {
            PicodollarsPerToken(dollarsPerMillionTokens: $0)
        }
    }
}
