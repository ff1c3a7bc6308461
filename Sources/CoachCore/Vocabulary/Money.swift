/// US dollars × 10⁻⁹: what a ledger row holds. Formatting belongs to the wire types.
public struct Nanodollars: Hashable, Sendable, Comparable, Codable {
    /// 1 = $0.000000001.
    public let raw: Int64
    /// Wraps a count of nanodollars.
    public init(_ raw: Int64) { self.raw = raw }
    public static func < (a: Self, b: Self) -> Bool { a.raw < b.raw }
}

/// US dollars × 10⁻¹² per token: what a price book holds.
public struct PicodollarsPerToken: Hashable, Sendable, Codable {
    /// $1 per million tokens = 1,000,000.
    public let raw: Int64
    /// Wraps a count of picodollars.
    public init(_ raw: Int64) { self.raw = raw }
}
