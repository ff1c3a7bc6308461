/// Estimates token counts from text, for calls whose provider reported no usage. A bill from an estimate is marked `estimated`.
///
/// Byte-pair tokenizers of current models average about four bytes per token on English prose, and about two bytes per token on other
/// scripts (Greek and Cyrillic letters of two bytes: 0.5 to 1 token each; CJK ideographs of three bytes: 1 to 1.5 tokens each). The
/// estimate tends to be high, because it is charged to a budget.
///
/// `gateway.estimate_tokens` is the same rule for stored messages: PostgreSQL counts bytes and characters at no cost, and nothing else.
public enum TokenEstimate {
    /// Tokens for the role and delimiters of one message (OpenAI's cookbook counts 3 per message, and 3 for the start of the reply).
    public static let perMessage = 4

    /// The most output tokens that a request asks for, unless the model's entry in `deploy/models.json` says otherwise.
    public static let longestAnswer = 1_024
    /// A report is believed up to so many times the estimate, for the output at least so many times the model's longest answer: no prompt has more tokens
    /// than bytes, of which an estimated token has at most four; a model may reason out of sight, and providers count that within the requested limit ...
    static let highestRatio = 4
    /// ... and for the input so many tokens more: templates, and texts that providers and proxies add.
    static let addedInput = 8_192

    /// Estimated tokens of a UTF-8 text, rounded up: 0.25 for a character of one byte, 0.875 of two, 1.5 of three, 2.125 of four.
    @inlinable
    public static func tokens(in utf8: some Sequence<UInt8>) -> Int {
        var bytes = 0
        var characters = 0
        for byte in utf8 {
            bytes += 1
            // Each byte that does not continue a character begins one (RFC 3629 §3).
            if byte & 0xC0 != 0x80 { characters += 1 }
        }
        return (5 * bytes - 3 * characters + 7) / 8
    }

    /// Estimated tokens of a prompt as sent.
    public static func tokens(in prompt: Prompt) -> Int {
        prompt.messages.reduce(3) { $0 + perMessage + tokens(in: $1.content.utf8) }
    }

    /// Estimated usage of a call: all prompt tokens as uncached input, the answer as output.
    /// `withheldBytes` of the model's text are not in `answer`; of its reasoning only the number of bytes is known.
    @inlinable
    public static func usage(
        promptTokens: Int, answer: some Sequence<UInt8>, withheldBytes: Int = 0, reasoningBytes: Int = 0
    ) -> TokenUsage {
        let output = tokens(in: answer) + (withheldBytes + 3) / 4
        return TokenUsage(input: promptTokens, cachedInput: 0, cacheWrite: 0, output: output, reasoning: (reasoningBytes + 3) / 4)
    }

    /// What can be true of a provider's report on a call with this estimate; a count above the bounds is unknown, and so the estimate is billed. So is a
    /// count of 0 at the end of an answer, where there was a prompt or text.
    /// - Parameter longestAnswer: in tokens, with reasoning.
    public static func plausible(
        _ reported: TokenUsage, for estimate: TokenUsage, longestAnswer: Int = TokenEstimate.longestAnswer
    ) -> TokenUsage {
        // Sums of these do not overflow.
        let bounded = reported.storable
        var plausible = reported
        let input = (bounded.input ?? 0) + (bounded.cachedInput ?? 0) + (bounded.cacheWrite ?? 0)
        let isMissing = { (count: Int?, estimated: Int?) in count == 0 && !reported.isPartial && estimated ?? 0 > 0 }
        if input > (estimate.totalInput ?? 0) * highestRatio + addedInput || isMissing(bounded.totalInput, estimate.totalInput) {
            (plausible.input, plausible.cachedInput, plausible.cacheWrite) = (nil, nil, nil)
        }
        let output = (bounded.output ?? 0) + (bounded.reasoning ?? 0)
        let isTooMuch = output > max(estimate.totalOutput ?? 0, longestAnswer) * highestRatio
        if isTooMuch || isMissing(bounded.totalOutput, estimate.totalOutput) { (plausible.output, plausible.reasoning) = (nil, nil) }
        return plausible
    }
}
