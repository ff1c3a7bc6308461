/// Estimates token counts from text, for calls whose provider reported no usage. A bill from an estimate is marked `estimated`.
///
/// Byte-pair tokenizers of current models average about four bytes per token on English prose, and about two bytes per token on other
/// scripts (Greek and Cyrillic letters of two bytes: 0.5 to 1 token each; CJK ideographs of three bytes: 1 to 1.5 tokens each). The
/// estimate tends to be high, because it is charged to a budget.
///
/// `gateway.estimate_tokens` is the same rule for stored messages. It uses bytes and characters only, because PostgreSQL counts these cheaply.
public enum TokenEstimate {
    /// Tokens for the role and delimiters of one message (OpenAI's cookbook counts 3 per message, and 3 for the start of the reply).
    public static let perMessage = 4

    /// The limit on the output tokens of a request whose model has none in `deploy/models.json`.
    public static let longestAnswer = 1_024
    /// How many times the estimate a report may be. A prompt has at most one token for each byte, and an estimated token stands for at most four bytes.
    /// The output may be as many times the model's longest answer, because a model may reason without sending the reasoning.
    static let highestRatio = 4
    /// Input tokens that a report may have beyond that, for templates and for texts that providers and proxies add.
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
    /// - Parameters:
    ///   - withheldBytes: UTF-8 bytes of the model's text that are not in `answer`.
    ///   - reasoningBytes: UTF-8 bytes of its reasoning.
    @inlinable
    public static func usage(
        promptTokens: Int, answer: some Sequence<UInt8>, withheldBytes: Int = 0, reasoningBytes: Int = 0
    ) -> TokenUsage {
        let output = tokens(in: answer) + (withheldBytes + 3) / 4
        return TokenUsage(input: promptTokens, cachedInput: 0, cacheWrite: 0, output: output, reasoning: (reasoningBytes + 3) / 4)
    }

    /// A provider's report on a call, with implausible counts as unknown, so that the estimate is billed for them. A count is implausible when it is above
    /// the bounds, or when a final report has 0 for a prompt or text that was there.
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
