extension PromptBuilder {
    /// Maximum tokens of a summary.
    private static let maximumSummaryTokens = 500

    /// The prompt for the summary of messages that leave the history. `summary`: the one of the messages before them.
    ///
    /// Each message is an element of its own that its text cannot close: a line break must not begin a turn of somebody else's, because the
    /// summary enters later prompts.
    public func summaryPrompt(of messages: [HistoryMessage], after summary: String?) -> Prompt {
        let elements = messages.map { message in
            DelimitedData.block(message.content, tag: message.role == .user ? "person" : "coach", limit: TurnRequest.maximumMessageScalars)
        }
        let notes = DelimitedData.block(summary, tag: "notes", limit: Self.maximumTextScalars)
        let conversation = "<messages>\n\(elements.joined(separator: "\n"))\n</messages>"
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
