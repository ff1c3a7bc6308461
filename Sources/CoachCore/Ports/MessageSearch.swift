/// Port to the search over a user's own messages. `CoachStore` implements it on PostgreSQL.
public struct MessageSearch: Sendable {
    /// Messages with all words of a query, in the user's language, newest first; `"…"` is a phrase, `-` excludes a word. Texts
    /// are compared in NFC; a word of Han characters or kana is found inside of longer ones. Messages of the last turns
    /// are found at once; of a user with many messages, the first search misses those that a job has not indexed yet. Throws `StoreFault` and
    /// `InvalidCursor`.
    public var search: @Sendable (Caller, _ query: String, PageRequest) async throws -> Page<ConversationMessage>

    public init(search: @escaping @Sendable (Caller, _ query: String, PageRequest) async throws -> Page<ConversationMessage>) {
        self.search = search
    }
}
