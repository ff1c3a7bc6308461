import EventStream

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A message as `conversations/{id}/messages` lists it.
public struct MessageResource: Sendable, Equatable {
    /// Its id.
    public var id: UUID
    /// `user` or `assistant`.
    public var role: String
    /// Its text.
    public var content: String
    /// `complete`, `stopped`, `interrupted`, …
    public var status: String
    /// The domain of its turn.
    public var domain: String?
    /// When it was saved.
    public var createdAt: Timestamp
    /// When it last changed.
    public var updatedAt: Timestamp
    /// Its turn.
    public var turnID: UUID?

    /// A message from its parts.
    public init(
        id: UUID, role: String, content: String, status: String, domain: String?, createdAt: Timestamp, updatedAt: Timestamp, turnID: UUID?
    ) {
        self.id = id
        self.role = role
        self.content = content
        self.status = status
        self.domain = domain
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.turnID = turnID
    }

    /// Reads an element of `data`.
    public init(_ value: JSONValue) throws(WireError) {
        let fields = WireFields(value)
        self.init(
            id: try fields.id("id"), role: try fields.string("role"), content: try fields.string("content"),
            status: try fields.string("status"), domain: try fields.optionalString("domain"),
            createdAt: try fields.timestamp("created_at"), updatedAt: try fields.timestamp("updated_at"),
            turnID: try fields.optionalID("turn_id"))
    }

    /// Writes the message as an object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
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

/// A conversation as `conversations` lists it.
public struct ConversationResource: Sendable, Equatable {
    /// Its id.
    public var id: UUID
    /// Given by the user, or nil.
    public var title: String?
    /// The domain it has settled in.
    public var domain: String?
    /// The persona it is held with.
    public var personaID: UUID?
    /// nil before the first message.
    public var lastMessageAt: Timestamp?
    /// When it was created.
    public var createdAt: Timestamp
    /// When it last changed.
    public var updatedAt: Timestamp
    /// When it was deleted, in lists that tell of deletions.
    public var deletedAt: Timestamp?

    /// A conversation from its parts.
    public init(
        id: UUID, title: String?, domain: String?, personaID: UUID?, lastMessageAt: Timestamp?, createdAt: Timestamp,
        updatedAt: Timestamp, deletedAt: Timestamp?
    ) {
        self.id = id
        self.title = title
        self.domain = domain
        self.personaID = personaID
        self.lastMessageAt = lastMessageAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.deletedAt = deletedAt
    }

    /// Reads `data`, or an element of it.
    public init(_ value: JSONValue) throws(WireError) {
        let fields = WireFields(value)
        self.init(
            id: try fields.id("id"), title: try fields.optionalString("title"), domain: try fields.optionalString("domain"),
            personaID: try fields.optionalID("persona_id"), lastMessageAt: try fields.optionalTimestamp("last_message_at"),
            createdAt: try fields.timestamp("created_at"), updatedAt: try fields.timestamp("updated_at"),
            deletedAt: try fields.optionalTimestamp("deleted_at"))
    }

    /// Writes the conversation as an object.
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
        }
    }
}
