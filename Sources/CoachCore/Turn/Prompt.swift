/// What the model is sent: one system text, then the conversation, oldest first, the new message last.
public struct Prompt: Sendable, Equatable {
    /// Who a prompt message speaks as.
    public enum Role: String, Sendable {
        case system, user, assistant
    }

    /// One message of the prompt.
    public struct Message: Sendable, Equatable {
        public var role: Role
        public var content: String

        /// Memberwise.
        public init(role: Role, content: String) {
            self.role = role
            self.content = content
        }
    }

    /// In the order in which the model reads them.
    public var messages: [Message]
    /// Upper bound of answer tokens.
    public var maximumOutputTokens: Int

    /// Memberwise.
    public init(messages: [Message], maximumOutputTokens: Int) {
        self.messages = messages
        self.maximumOutputTokens = maximumOutputTokens
    }
}
