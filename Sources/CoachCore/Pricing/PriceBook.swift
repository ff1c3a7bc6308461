/// All prices that are known, past and coming ones included. An unknown price is nil, never 0 (DESIGN, Money).
public struct PriceBook: Sendable, Equatable {
    private struct Key: Hashable {
        let provider: String
        let model: String
    }

    /// By name; the newest first.
    private let exact: [Key: [Price]]
    /// By provider; the longest prefix first, of one prefix the newest first.
    private let prefixes: [String: [Price]]

    /// Takes the prices in any order. Of two with the same name, match and day the later one in the list counts; the loader refuses such a file.
    public init(_ prices: [Price]) {
        let newestFirst = prices.enumerated().sorted { ($1.element.validFrom, $1.offset) < ($0.element.validFrom, $0.offset) }.map(
            \.element)
        exact = Dictionary(grouping: newestFirst.filter { $0.match == .exact }) { Key(provider: $0.provider, model: $0.model) }
        prefixes = Dictionary(grouping: newestFirst.filter { $0.match == .prefix }, by: \.provider).mapValues { ofProvider in
            // Stable, so that the newest of one prefix stays first.
            ofProvider.enumerated().sorted {
                ($1.element.model.utf8.count, $0.offset) < ($0.element.model.utf8.count, $1.offset)
            }.map(\.element)
        }
    }

    /// The price in force: that of the exact name, else of the longest prefix that has one on that day.
    public func price(of name: ModelName, on day: CalendarDay) -> Price? {
        if let price = exact[Key(provider: name.provider, model: name.model)]?.first(where: { $0.validFrom <= day }) { return price }
        return prefixes[name.provider]?.first { $0.validFrom <= day && name.model.hasPrefix($0.model) }
    }

    /// The cost of one call on that day; nil when the model has no price then, or the usage cannot be priced (see `Price.cost(of:)`).
    public func cost(of usage: TokenUsage, at name: ModelName, on day: CalendarDay) -> Nanodollars? {
        price(of: name, on: day)?.cost(of: usage)
    }
}
