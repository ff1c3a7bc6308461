extension PicodollarsPerToken {
    /// Parses US dollars per million tokens in decimal digits, such as `0.075`: up to nine digits before the point and six after it (the
    /// sixth is one picodollar per token). nil for any other text, so that no price is rounded.
    public init?(dollarsPerMillionTokens text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, (1...9).contains(whole.count) else { return nil }
        let fraction = parts.count == 2 ? parts[1] : whole[whole.endIndex...]
        guard parts.count == 1 || (1...6).contains(fraction.count) else { return nil }
        var raw: Int64 = 0
        for digit in [whole, fraction].joined() {
            guard (0x30...0x39).contains(digit) else { return nil }
            raw = raw * 10 + Int64(digit - 0x30)
        }
        for _ in fraction.count..<6 { raw *= 10 }
        self.init(raw)
    }
}
