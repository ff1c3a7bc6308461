/// Estimates token counts from text, for calls whose provider reported no usage. A bill from an estimate is marked `estimated`.
///
/// Byte-pair tokenizers of current models average about four bytes per token on English prose, and about two bytes per token on other
/// scripts (Greek and Cyrillic letters of two bytes: 0.5 to 1 token each; CJK ideographs of three bytes: 1 to 1.5 tokens each). The
/// estimate tends to be high, because it is charged to a budget.
public enum TokenEstimate {
    /// Tokens for the role and delimiters of one message (OpenAI's cookbook counts 3 per message, and 3 for the start of the reply).
    static let perMessage = 4

    /// Estimated tokens of a UTF-8 text: a quarter of the ASCII bytes plus half of the others, rounded up.
    public static func tokens(in utf8: some Sequence<UInt8>) -> Int {
        var ascii = 0
        var other = 0
        for byte in utf8 {
            if byte < 0x80 { ascii += 1 } else { other += 1 }
        }
        return (ascii + 2 * other + 3) / 4
    }

    /// Estimated tokens of a prompt as sent.
    public static func tokens(in prompt: Prompt) -> Int {
        prompt.messages.reduce(3) { $0 + perMessage + tokens(in: $1.content.utf8) }
    }

    /// Estimated usage of a call: all prompt tokens as uncached input, the answer as output.
    /// `withheldBytes` of the model's text are not in `answer`.
    public static func usage(promptTokens: Int, answer: some Sequence<UInt8>, withheldBytes: Int = 0) -> TokenUsage {
        let output = tokens(in: answer) + (withheldBytes + 3) / 4
        return TokenUsage(input: promptTokens, cachedInput: 0, cacheWrite: 0, output: output, reasoning: 0)
    }
}
