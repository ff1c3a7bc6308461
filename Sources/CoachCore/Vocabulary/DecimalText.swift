/// Parses decimal digits exactly, because amounts of money are never floating-point numbers.
enum DecimalText {
    /// The value in units of 10^-places: up to nine digits before the point and `places` after it. nil for any other text, so that nothing is
    /// rounded.
    static func integer(_ text: String, places: Int) -> Int64? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, (1...9).contains(whole.count) else { return nil }
        let fraction = parts.count == 2 ? parts[1] : whole[whole.endIndex...]
        guard parts.count == 1 || (1...places).contains(fraction.count) else { return nil }
        var value: Int64 = 0
        for digit in [whole, fraction].joined() {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - 0x30)
        }
        for _ in fraction.count..<places { value *= 10 }
        return value
    }
}

extension Nanodollars {
    /// Parses US dollars, such as `0.25`, with at most nine decimals.
    public init?(dollars text: String) {
        guard let raw = DecimalText.integer(text, places: 9) else { return nil }
        self.init(raw)
    }
}
