extension PicodollarsPerToken {
    /// Parses US dollars per million tokens, such as `0.075`, with at most six decimals: the sixth is one picodollar per token.
    public init?(dollarsPerMillionTokens text: String) {
        guard let raw = DecimalText.integer(text, places: 6) else { return nil }
        self.init(raw)
    }
}
