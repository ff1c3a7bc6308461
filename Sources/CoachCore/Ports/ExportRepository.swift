/// Port to all conversations and messages of a user, in the order of their ids, which do not change. Deleted ones are there as long as they are
/// kept. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct ExportRepository: Sendable {
    /// Those after an id; nil: from the first.
    public var conversations: @Sendable (Caller, _ after: ConversationID?, _ limit: Int) async throws -> [ConversationRecord]
    public var messages: @Sendable (Caller, _ after: MessageID?, _ limit: Int) async throws -> [ExportedMessage]

    public init(
        conversations: @escaping @Sendable (Caller, _ after: ConversationID?, _ limit: Int) async throws -> [ConversationRecord],
        messages: @escaping @Sendable (Caller, _ after: MessageID?, _ limit: Int) async throws -> [ExportedMessage]
    ) {
        self.conversations = conversations
        self.messages = messages
    }
}

/// A message and its conversation.
public struct ExportedMessage: Sendable, Equatable {
    public var conversationID: ConversationID
    public var message: MessageRecord

    public init(conversationID: ConversationID, message: MessageRecord) {
        self.conversationID = conversationID
        self.message = message
    }
}
