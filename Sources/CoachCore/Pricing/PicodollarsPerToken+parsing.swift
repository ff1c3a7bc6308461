extension PicodollarsPerToken {
    /// Parses US dollars per million tokens, such as `0.075`, with at most six decimals: the sixth is one picodollar per token.
    public init?(dollarsPerMillionTokens text: String) {
        guard let raw = DecimalText.integer(text, places: 6) else { return nil }
        self.init(raw)
    }

    /// The exact text that `init(dollarsPerMillionTokens:)` parses.
    public var dollarsPerMillionTokens: String {
        let digits = String(raw)
        let padded = String(repeating: "0", count: max(0, 7 - digits.count)) + digits
        var fraction = padded.suffix(6)
        while fraction.last == "0" { fraction.removeLast() }
        return fraction.isEmpty ? String(padded.dropLast(6)) : "\(padded.dropLast(6)).\(fraction)"
    }

    /// Parses US dollars per token in decimal or scientific notation, such as `1.5e-07`; nil when that is not a whole number of picodollars.
    public init?(dollarsPerToken text: String) {
        let parts = text.lowercased().split(separator: "e", maxSplits: 1, omittingEmptySubsequences: false)
        let number = parts[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let exponent = parts.count == 2 ? Int(parts[1]) : 0, (-30...3).contains(exponent) else { return nil }
        let fraction = number.count == 2 ? number[1] : ""
        var digits = String(number[0] + fraction)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        // A dollar has 10¹² picodollars.
        let shift = 12 + exponent - fraction.count
        if shift >= 0 {
            digits += String(repeating: "0", count: shift)
        } else {
            guard digits.suffix(-shift).allSatisfy({ $0 == "0" }) else { return nil }
            digits = String(digits.dropLast(-shift))
        }
        guard let raw = digits.isEmpty ? 0 : Int64(digits), raw <= Self.most else { return nil }
        self.init(raw)
    }

    /// What `dollarsPerMillionTokens` can write.
    private static let most: Int64 = 999_999_999_999_999
}
