/// A chat request, independent of the dialect.
struct ChatRequest: Sendable, Equatable {
    var model: String
    var turns: [Turn]
    var isStreamed = false
    var includesUsage = false
    /// The most tokens of the answer; a longer answer ends with reason `length`.
    var maxTokens: Int?
    /// Stop sequences: the answer ends before the first occurrence of any of them.
    var stops: [String] = []
    /// The provider's cache keeps marked prefixes alone.
    var hasCacheMarks = false

    struct Turn: Sendable, Equatable {
        var role: String
        var text: String
        /// The prompt up to its end is to be kept.
        var isCacheMark = false
    }

    var lastUserText: String { turns.last { $0.role == "user" }?.text ?? "" }

    /// The size of the prompt in tokens. Every message and the start of the answer cost three tokens more than their text, as OpenAI
    /// documents for its chat format.
    var promptTokens: Int { turns.reduce(3) { $0 + 3 + Tokenizer.count($1.text) } }
}
