/// Tokens guessed from text, for answers whose provider reported no usage. A bill made of them is marked `estimated`.
///
/// Byte-pair tokenizers of current models average about four bytes per token on English prose, and about one token per two bytes of other
/// scripts (two-byte letters of Greek or Cyrillic: about 2 letters a token on recent vocabularies, older ones 1; CJK ideographs of three
/// bytes: about 1 to 1.5 tokens each). The guess leans to the high side, because an estimate settles a budget.
public enum TokenEstimate {
    /// Wrapping of one message in a chat prompt: role and delimiters (OpenAI's cookbook counts 3 for a message and 3 for the reply's start).
    public static let perMessage = 4

    /// Tokens of a UTF-8 text: a quarter of the ASCII bytes and half of the others, rounded up.
    public static func tokens(in utf8: some Sequence<UInt8>) -> Int {
        var ascii = 0
        var other = 0
        for byte in utf8 {
            if byte < 0x80 { ascii += 1 } else { other += 1 }
        }
        return (ascii + 2 * other + 3) / 4
    }

    /// Tokens of a prompt as sent.
    public static func tokens(in prompt: Prompt) -> Int {
        prompt.messages.reduce(3) { $0 + perMessage + tokens(in: $1.content.utf8) }
    }

    /// Usage of a call that reported none: all prompt tokens as uncached input, what was said as output.
    public static func usage(promptTokens: Int, said: some Sequence<UInt8>) -> TokenUsage {
        TokenUsage(input: promptTokens, cachedInput: 0, cacheWrite: 0, output: tokens(in: said), reasoning: 0)
    }
}
