/// Formats and parses amounts of money: US dollars as decimal text, never as a floating-point number.
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

    /// Parses an amount with up to nine decimals to nanodollars; nil for any other text and beyond `Int64`.
    public static func nanodollars(_ text: String) -> Int64? {
        var digits = text.utf8[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits.removeFirst() }
        let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = parts.first, !whole.isEmpty else { return nil }
        let decimals = parts.count == 2 ? Array(parts[1]) : []
        guard parts.count == 1 || (1...9).contains(decimals.count) else { return nil }
        var value: Int64 = 0
        for byte in Array(whole) + decimals + Array(repeating: UInt8(ascii: "0"), count: 9 - decimals.count) {
            guard byte &- UInt8(ascii: "0") <= 9 else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if overflow || carry { return nil }
            value = sum
        }
        return value
    }
}
