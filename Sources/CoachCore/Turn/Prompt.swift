/// The messages sent to a model: system messages, the same for many turns first, then the conversation, oldest first, with the new user message last.
/// A system message directly before that overrides all others.
public struct Prompt: Sendable {
    /// Role of a message in provider APIs.
    public enum Role: String, Sendable {
        case system, user, assistant
    }

    public struct Message: Sendable, Equatable {
        public var role: Role
        public var content: String

        public init(role: Role, content: String) {
            self.role = role
            self.content = content
        }
    }

    public var messages: [Message]
    /// Maximum tokens of the answer, where that is less than the model's own; nil: the model's.
    public var maximumOutputTokens: Int?
    /// Records the requests of the call.
    public var tracing: RequestTracing?

    public init(messages: [Message], maximumOutputTokens: Int? = nil) {
        self.messages = messages
        self.maximumOutputTokens = maximumOutputTokens
    }
}
