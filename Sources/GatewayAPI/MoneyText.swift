/// Formats amounts of money: US dollars as decimal text, never as a floating-point number.
public enum MoneyText {
    private static let nanodollarsPerDollar: UInt64 = 1_000_000_000

    /// Formats with at least six decimals, and up to nine without trailing zeros: `0.000123`, `0.0001234`, `12.000000`.
    public static func format(nanodollars: Int64) -> String {
        let magnitude = nanodollars.magnitude
        var decimals = String(magnitude % nanodollarsPerDollar)
        decimals = String(repeating: "0", count: 9 - decimals.utf8.count) + decimals
        while decimals.utf8.count > 6, decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(nanodollars < 0 ? "-" : "")\(magnitude / nanodollarsPerDollar).\(decimals)"
    }
}
