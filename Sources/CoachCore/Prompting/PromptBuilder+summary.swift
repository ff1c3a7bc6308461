extension PromptBuilder {
    /// Maximum tokens of a summary: 250 words of a script in which a word takes four.
    private static let maximumSummaryTokens = 1_000

    /// The prompt for the summary of messages that leave the history. `summary`: the one of the messages before them.
    public func summaryPrompt(of messages: [HistoryMessage], after summary: String?) -> Prompt {
        let notes = DelimitedData.block(summary, tag: "notes", limit: Self.maximumTextScalars)
        let conversation = DelimitedData.messages(messages, tag: "messages", limit: TurnRequest.maximumMessageScalars)
        return Prompt(
            messages: [
                Prompt.Message(role: .system, content: templates.filled(.summaryRequest)),
                Prompt.Message(role: .user, content: "\(notes)\n\n\(conversation)"),
            ], maximumOutputTokens: Self.maximumSummaryTokens)
    }

    /// A model's text as a summary: without white space around it, and no longer than a prompt takes.
    public static func summary(_ text: String) -> String {
        let scalars = text.unicodeScalars.drop(while: \.properties.isWhitespace)
        return String(String.UnicodeScalarView(scalars.prefix(maximumTextScalars)))
    }
}
