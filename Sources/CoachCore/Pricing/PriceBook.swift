/// All configured prices, with past and future ones. Looks up prices and computes costs. A missing price is nil, never 0.
public struct PriceBook: Sendable, Equatable {
    /// By name; newest first.
    private let exact: [ModelName: [Price]]
    /// By provider; longest prefix first, then newest first.
    private let prefixes: [String: [Price]]

    /// Accepts any order. Of two prices with the same provider, model, match and day the later in the list wins; `read` reports them.
    public init(_ prices: [Price]) {
        let newestFirst = prices.enumerated().sorted { ($1.element.validFrom, $1.offset) < ($0.element.validFrom, $0.offset) }.map(
            \.element)
        exact = Dictionary(grouping: newestFirst.filter { $0.match == .exact }) { ModelName(provider: $0.provider, model: $0.model) }
        prefixes = Dictionary(grouping: newestFirst.filter { $0.match == .prefix }, by: \.provider).mapValues { ofProvider in
            // The offset makes the sort stable: the newest price of a prefix stays first.
            ofProvider.enumerated().sorted {
                ($1.element.model.utf8.count, $0.offset) < ($0.element.model.utf8.count, $1.offset)
            }.map(\.element)
        }
    }

    /// The newest price in force on the day: of the exact name, else of the longest prefix with one. After the last day of a special price the price that
    /// it replaced for a while holds again.
    public func price(of name: ModelName, on day: CalendarDay) -> Price? {
        exact[name]?.first { $0.isInForce(on: day) }
            ?? prefixes[name.provider]?.first { $0.isInForce(on: day) && name.model.hasPrefix($0.model) }
    }

    /// The cost of one call on the day; nil without a valid price, or when `Price.cost(of:)` is nil.
    /// - Parameter estimated: whether the usage is an estimate.
    public func cost(of usage: TokenUsage, at name: ModelName, on day: CalendarDay, estimated: Bool = false) -> Nanodollars? {
        price(of: name, on: day).flatMap { $0.cost(of: estimated ? $0.billed(estimate: usage) : usage) }
    }

    /// The bill of one call: of the usage that the provider reported at the end of its answer, with the estimate of a side that it did not report; or
    /// else of the estimate, raised to what it reported before.
    public func bill(
        of name: ModelName, on day: CalendarDay, reported: TokenUsage, estimate: @autoclosure () -> TokenUsage
    ) -> TurnBill {
        let isReported = reported.input != nil && reported.output != nil && !reported.isPartial
        let price = price(of: name, on: day)
        let counted = reported.storable
        var usage = isReported ? counted : estimate().raised(to: reported)
        if !reported.isPartial, counted.output != nil { (usage.output, usage.reasoning) = (counted.output, counted.reasoning) }
        if !isReported, let price { usage = price.billed(estimate: usage) }
        return TurnBill(name: name, usage: usage, cost: price?.cost(of: usage), estimated: !isReported)
    }
}
