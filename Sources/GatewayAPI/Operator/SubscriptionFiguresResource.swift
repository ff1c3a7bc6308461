import JSON

/// A row of `GET /api/v1/operator/subscriptions`: one UTC day of production purchases. Amounts are US dollars.
public struct SubscriptionFiguresResource: Sendable, Equatable {
    /// Such as `2026-03-01`.
    public var day: String
    /// Counts by field name, in the order of `counts`.
    public var counts: [Int]
    public var revenue: String
    public var refunded: String
    /// nil when no active purchase has a price.
    public var monthlyRecurring: String?

    /// The names of the counts: purchases and trials at the end of the day, and what happened on it.
    public static let countNames: [StaticString] = [
        "active", "trials", "new_trials", "new_purchases", "conversions", "renewals", "cancellations", "churned", "trials_lost", "refunds",
        "unpriced", "mrr_unpriced",
    ]

    /// `counts`: one for each of `countNames`.
    public init(day: String, counts: [Int], revenue: String, refunded: String, monthlyRecurring: String?) {
        self.day = day
        self.counts = counts
        self.revenue = revenue
        self.refunded = refunded
        self.monthlyRecurring = monthlyRecurring
    }
}

extension SubscriptionFiguresResource: WireResource {
    public static let schemaName = "SubscriptionFigures"
    public static let fields: [Schema.Field] =
        [.init("day", .text)] + countNames.map { .init("\($0)", .integer) } + [
            .init("revenue_usd", .money), .init("refunded_usd", .money), .init("mrr_usd", .money.nullable),
        ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("day", day)
            for (name, count) in zip(Self.countNames, counts) { writer.member(name, count) }
            writer.member("revenue_usd", revenue)
            writer.member("refunded_usd", refunded)
            writer.member("mrr_usd", monthlyRecurring)
        }
    }
}
