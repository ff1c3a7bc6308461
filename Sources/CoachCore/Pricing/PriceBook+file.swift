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
            if let last = price.validTo, last < price.validFrom { try row.report("valid_to", .invalid("must not be before valid_from")) }
            if !zip(price.contextTiers, price.contextTiers.dropFirst()).allSatisfy({ $0.above < $1.above }) {
                try row.report("context_tiers", .invalid("must be in the order of above_tokens"))
            }
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
            validTo: try row.optional("valid_to"), rates: try Rates(row), contextTiers: try row.optional("context_tiers") ?? [])
        try row.rejectUnknown(besides: ["source"])
    }
}

extension Price.Rates: JSONReadable {
    /// The members of a price or of a context tier.
    public init(_ row: JSONReader) throws(JSONFinding) {
        self.init(
            input: try row.required("input", .price), output: try row.required("output", .price),
            cachedInput: try row.optional("cached_input", .price), cacheWrite: try row.optional("cache_write", .price),
            reasoning: try row.optional("reasoning", .price))
    }

    fileprivate func write(to writer: inout JSONWriter) {
        let classes: [(StaticString, PicodollarsPerToken?)] = [
            ("input", input), ("cached_input", cachedInput), ("cache_write", cacheWrite), ("output", output), ("reasoning", reasoning),
        ]
        for (name, price) in classes {
            if let price { writer.member(name, price.dollarsPerMillionTokens) }
        }
    }
}

extension Price.ContextTier: JSONReadable {
    public init(_ row: JSONReader) throws(JSONFinding) {
        self.init(above: try row.required("above_tokens", .integer(1...Int(Int32.max))), rates: try Price.Rates(row))
        try row.rejectUnknown()
    }
}

extension Price {
    /// Writes a row of `deploy/prices.json`. `source`: where the price is from.
    public func write(source: String, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("provider", provider)
            writer.member("model", model)
            if match != .exact { writer.member("match", match.rawValue) }
            writer.member("valid_from", validFrom.description)
            if let validTo { writer.member("valid_to", validTo.description) }
            rates.write(to: &writer)
            if !contextTiers.isEmpty {
                writer.key(literal: "context_tiers")
                writer.array { writer in
                    for tier in contextTiers {
                        writer.object { writer in
                            writer.member("above_tokens", tier.above)
                            tier.rates.write(to: &writer)
                        }
                    }
                }
            }
            writer.member("source", source)
        }
    }
}

extension JSONField<PicodollarsPerToken> {
    fileprivate static var price: Self {
        .parsed("a decimal in quotes with at most six places, like \"0.075\"", placeholder: PicodollarsPerToken(0)) {
            PicodollarsPerToken(dollarsPerMillionTokens: $0)
        }
    }
}
