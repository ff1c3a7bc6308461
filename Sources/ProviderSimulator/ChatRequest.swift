/// A request for an answer, as all dialects mean it.
struct ChatRequest: Sendable, Equatable {
    var model: String
    var turns: [Turn]
    var isStreamed = false
    var includesUsage = false
    /// The answer ends with reason `length` after this many tokens.
    var maxTokens: Int?
    /// The answer ends before the first occurrence of any of these.
    var stops: [String] = []

    struct Turn: Sendable, Equatable {
        var role: String
        var text: String
    }

    var lastUserText: String { turns.last { $0.role == "user" }?.text ?? "" }

    /// The size of the prompt: each turn costs three tokens more than its text, and so does the opening of the answer, as OpenAI
    /// documents for its chat format.
    var promptTokens: Int { turns.reduce(3) { $0 + 3 + Tokenizer.count($1.text) } }
}
