/// An amount in units of US$ 10⁻⁹, as in ledger rows. The wire types format it.
public struct Nanodollars: Hashable, Sendable, Comparable {
    /// 1 = US$ 0.000000001.
    public let raw: Int64
    public init(_ raw: Int64) { self.raw = raw }
    public static func < (a: Self, b: Self) -> Bool { a.raw < b.raw }

    /// A sum; nil when one of the amounts is unknown.
    public init?(sumOf amounts: [Nanodollars?]) {
        var sum: Int64 = 0
        for amount in amounts {
            guard let amount else { return nil }
            sum += amount.raw
        }
        self.init(sum)
    }
}

/// A price in units of US$ 10⁻¹² per token.
public struct PicodollarsPerToken: Hashable, Sendable {
    /// US$ 1 per million tokens = 1,000,000.
    public let raw: Int64
    public init(_ raw: Int64) { self.raw = raw }
}
