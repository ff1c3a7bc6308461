/// The messages sent to a model: system messages, the same for many turns first, then the conversation, oldest first, with the new user message last.
/// A system message directly before that overrides all others.
public struct Prompt: Sendable, Equatable {
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
    /// Maximum tokens of the answer.
    public var maximumOutputTokens: Int
    /// Sent with the call as headers; nil when it is not traced.
    public var trace: TraceHeaders?

    public init(messages: [Message], maximumOutputTokens: Int) {
        self.messages = messages
        self.maximumOutputTokens = maximumOutputTokens
    }
}

/// The headers of W3C Trace Context.
public struct TraceHeaders: Sendable, Equatable {
    /// `traceparent`
    public var parent: String
    /// `tracestate`
    public var state: String?

    public init(parent: String, state: String? = nil) {
        self.parent = parent
        self.state = state
    }
}
