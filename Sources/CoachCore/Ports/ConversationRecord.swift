import Foundation

/// Initial fields of a new conversation.
public struct ConversationDraft: Sendable, Equatable {
    public var id: ConversationID
    public var title: String?
    public var domain: Domain?
    public var personaID: PersonaID?
    /// Removed a day after its last message.
    public var isEphemeral: Bool

    public init(
        id: ConversationID = .random(), title: String? = nil, domain: Domain? = nil, personaID: PersonaID? = nil, isEphemeral: Bool = false
    ) {
        self.id = id
        self.title = title
        self.domain = domain
        self.personaID = personaID
        self.isEphemeral = isEphemeral
    }
}

/// Changes to a conversation. nil leaves a field unchanged, `.some(nil)` clears it.
public struct ConversationPatch: Sendable, Equatable {
    public var title: String??
    public var domain: Domain??
    /// The versions that may be changed (`If-Match`); nil: any.
    public var expectedVersions: [Int64]?

    public init(title: String?? = nil, domain: Domain?? = nil, expectedVersions: [Int64]? = nil) {
        self.title = title
        self.domain = domain
        self.expectedVersions = expectedVersions
    }
}

/// A conversation as its owner sees it (CONTRACT §5).
public struct ConversationRecord: Sendable, Equatable {
    public var id: ConversationID
    public var title: String?
    public var domain: Domain?
    public var personaID: PersonaID?
    public var lastMessageAt: Date
    public var createdAt: Date
    public var updatedAt: Date
    /// Set for a deleted conversation, which lists report to synchronising clients only.
    public var deletedAt: Date?
    /// The number of its latest change, for its `ETag`.
    public var version: Int64
    /// Removed a day after its last message.
    public var isEphemeral: Bool
    /// One of `ConversationSource.listed`.
    public var source: ConversationSource

    public init(
        id: ConversationID, title: String?, domain: Domain?, personaID: PersonaID?, lastMessageAt: Date, createdAt: Date, updatedAt: Date,
        deletedAt: Date?, version: Int64, isEphemeral: Bool, source: ConversationSource
    ) {
        self.id = id
        self.title = title
        self.domain = domain
        self.personaID = personaID
        self.lastMessageAt = lastMessageAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.deletedAt = deletedAt
        self.version = version
        self.isEphemeral = isEphemeral
        self.source = source
    }
}

/// A message as its owner sees it (CONTRACT §5).
public struct MessageRecord: Sendable, Equatable {
    /// State of an assistant's message; for a user's message the state of its answer.
    public enum Status: String, Sendable, CaseIterable {
        case complete, stopped, interrupted, failed, superseded
    }

    public var id: MessageID
    public var conversationID: ConversationID
    public var role: MessageRole
    public var content: String
    public var status: Status
    /// Domain of its turn.
    public var domain: Domain?
    public var createdAt: Date
    public var updatedAt: Date
    public var turnID: TurnID?
    /// Order in the conversation, ascending.
    public var position: Int

    public init(
        id: MessageID, conversationID: ConversationID, role: MessageRole, content: String, status: Status, domain: Domain?,
        createdAt: Date, updatedAt: Date, turnID: TurnID?, position: Int
    ) {
        self.id = id
        self.conversationID = conversationID
        self.role = role
        self.content = content
        self.status = status
        self.domain = domain
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.turnID = turnID
        self.position = position
    }
}

/// A message and the source of its conversation.
public struct ConversationMessage: Sendable, Equatable {
    public var source: ConversationSource
    public var message: MessageRecord

    public init(source: ConversationSource, message: MessageRecord) {
        self.source = source
        self.message = message
    }

    public var conversationID: ConversationID { message.conversationID }
}
