import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An element of `GET /api/v1/conversations/{id}/messages`.
public struct MessageResource: Sendable, Equatable, JSONReadable {
    public var id: UUID
    /// Its conversation; nil from a gateway of a release that did not send it.
    public var conversationID: UUID?
    /// `user` or `assistant`.
    public var role: String
    /// The text.
    public var content: String
    /// `complete`, `stopped`, `interrupted`, …
    public var status: String
    /// The domain of the turn; nil when the router did not choose one.
    public var domain: String?
    /// The time at which the message was saved.
    public var createdAt: Timestamp
    /// When it last changed.
    public var updatedAt: Timestamp
    /// The turn that the message belongs to.
    public var turnID: UUID?

    public init(
        id: UUID, conversationID: UUID?, role: String, content: String, status: String, domain: String?, createdAt: Timestamp,
        updatedAt: Timestamp, turnID: UUID?
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
    }

    /// Decodes an element of `data`.
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"), conversationID: try json.optional("conversation_id"), role: try json.required("role"),
            content: try json.required("content"), status: try json.required("status"), domain: try json.optional("domain"),
            createdAt: try json.required("created_at"), updatedAt: try json.required("updated_at"),
            turnID: try json.optional("turn_id"))
    }

    /// Writes the message as a JSON object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("conversation_id", conversationID)
            writer.member("role", role)
            writer.member("content", content)
            writer.member("status", status)
            writer.member("domain", domain)
            writer.member("created_at", createdAt)
            writer.member("updated_at", updatedAt)
            writer.member("turn_id", turnID)
        }
    }
}

/// An element of `GET /api/v1/conversations`.
public struct ConversationResource: Sendable, Equatable, JSONReadable {
    public var id: UUID
    /// The title that the user gave; nil when there is none.
    public var title: String?
    /// The domain of the conversation; nil until one is chosen.
    public var domain: String?
    /// The persona that answers in the conversation; nil for the default coach.
    public var personaID: UUID?
    /// The time of the last message; nil before the first one.
    public var lastMessageAt: Timestamp?
    /// The time at which the conversation was created.
    public var createdAt: Timestamp
    /// When it last changed.
    public var updatedAt: Timestamp
    /// The time of the deletion, in lists that include deleted conversations.
    public var deletedAt: Timestamp?
    /// Whether the conversation is removed a day after its last message.
    public var ephemeral: Bool
    /// `app`, or `openai` for a conversation of a client of OpenAI's protocols, which lists have on request only.
    public var source: String

    public init(
        id: UUID, title: String?, domain: String?, personaID: UUID?, lastMessageAt: Timestamp?, createdAt: Timestamp,
        updatedAt: Timestamp, deletedAt: Timestamp?, ephemeral: Bool = false, source: String = "app"
    ) {
        self.id = id
        self.title = title
        self.domain = domain
        self.personaID = personaID
        self.lastMessageAt = lastMessageAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.deletedAt = deletedAt
        self.ephemeral = ephemeral
        self.source = source
    }

    /// Decodes `data`, or an element of it.
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"), title: try json.optional("title"), domain: try json.optional("domain"),
            personaID: try json.optional("persona_id"), lastMessageAt: try json.optional("last_message_at"),
            createdAt: try json.required("created_at"), updatedAt: try json.required("updated_at"),
            deletedAt: try json.optional("deleted_at"), ephemeral: try json.optional("ephemeral") ?? false,
            source: try json.optional("source") ?? "app")
    }

    /// Writes the conversation as a JSON object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("title", title)
            writer.member("domain", domain)
            writer.member("persona_id", personaID)
            writer.member("last_message_at", lastMessageAt)
            writer.member("created_at", createdAt)
            writer.member("updated_at", updatedAt)
            writer.member("deleted_at", deletedAt)
            writer.member("ephemeral", ephemeral)
            writer.member("source", source)
        }
    }
}
