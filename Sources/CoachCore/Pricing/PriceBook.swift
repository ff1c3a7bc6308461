/// All configured prices, with past and future ones. Looks up prices and computes costs. A missing price is nil, never 0.
public struct PriceBook: Sendable, Equatable {
    private struct Key: Hashable {
        let provider: String
        let model: String
    }

    /// By name; newest first.
    private let exact: [Key: [Price]]
    /// By provider; longest prefix first, then newest first.
    private let prefixes: [String: [Price]]

    /// Accepts any order. Of two prices with the same provider, model, match and day the later in the list wins; `read` reports them.
    public init(_ prices: [Price]) {
        let newestFirst = prices.enumerated().sorted { ($1.element.validFrom, $1.offset) < ($0.element.validFrom, $0.offset) }.map(
            \.element)
        exact = Dictionary(grouping: newestFirst.filter { $0.match == .exact }) { Key(provider: $0.provider, model: $0.model) }
        prefixes = Dictionary(grouping: newestFirst.filter { $0.match == .prefix }, by: \.provider).mapValues { ofProvider in
            // The offset makes the sort stable: the newest price of a prefix stays first.
            ofProvider.enumerated().sorted {
                ($1.element.model.utf8.count, $0.offset) < ($0.element.model.utf8.count, $1.offset)
            }.map(\.element)
        }
    }

    /// The newest price valid on the day: of the exact name, else of the longest prefix with a valid price; else nil.
    public func price(of name: ModelName, on day: CalendarDay) -> Price? {
        if let price = exact[Key(provider: name.provider, model: name.model)]?.first(where: { $0.validFrom <= day }) { return price }
        return prefixes[name.provider]?.first { $0.validFrom <= day && name.model.hasPrefix($0.model) }
    }

    /// The cost of one call on the day; nil without a valid price, or when `Price.cost(of:)` is nil.
    public func cost(of usage: TokenUsage, at name: ModelName, on day: CalendarDay) -> Nanodollars? {
        price(of: name, on: day)?.cost(of: usage)
    }
}
