import Foundation
import JSON

/// The users that may begin a conversation with a published persona.
public enum PersonaVisibility: String, Sendable, CaseIterable {
    /// Its creator, and users who redeemed a share link.
    case link
    /// All users.
    case listed
}

/// A persona as its creator sees it: the draft, and how it is published.
public struct PersonaRecord: Sendable, Equatable {
    public enum Status: String, Sendable, CaseIterable {
        case draft, published, unpublished
        /// Unpublished by an operator, for good.
        case withdrawn
    }

    public var id: PersonaID
    public var slug: String?
    public var status: Status
    public var visibility: PersonaVisibility
    /// nil before the first publication.
    public var publishedVersion: Int?
    public var publishedAt: Date?
    public var createdAt: Date
    public var updatedAt: Date
    /// Counts the changes of the persona, for its `ETag`.
    public var revision: Int
    /// The members of `PersonaContent`. JSON as it is stored, because creators also write behind PostgREST.
    public var content: JSONValue

    public init(
        id: PersonaID, slug: String?, status: Status, visibility: PersonaVisibility, publishedVersion: Int?, publishedAt: Date?,
        createdAt: Date, updatedAt: Date, revision: Int, content: JSONValue
    ) {
        self.id = id
        self.slug = slug
        self.status = status
        self.visibility = visibility
        self.publishedVersion = publishedVersion
        self.publishedAt = publishedAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.revision = revision
        self.content = content
    }
}

/// An immutable version of a persona.
public struct PersonaVersion: Sendable, Equatable {
    public var version: Int
    public var createdAt: Date
    public var content: JSONValue

    public init(version: Int, createdAt: Date, content: JSONValue) {
        self.version = version
        self.createdAt = createdAt
        self.content = content
    }
}

/// What users may see of a published persona; never a prompt text.
public struct PublishedPersona: Sendable, Equatable {
    public var id: PersonaID
    public var slug: String?
    public var version: Int
    public var publishedAt: Date
    /// The public members of `PersonaContent`: name, description, domain, starters, languages.
    public var content: JSONValue

    public init(id: PersonaID, slug: String?, version: Int, publishedAt: Date, content: JSONValue) {
        self.id = id
        self.slug = slug
        self.version = version
        self.publishedAt = publishedAt
        self.content = content
    }
}

/// The persona of a conversation, and whether there is a newer version to accept.
public struct ConversationPersona: Sendable, Equatable {
    public var personaID: PersonaID
    /// In the version that answers, or will answer first; nil when there is none.
    public var name: String?
    /// The version that answers; nil before the first turn.
    public var version: Int?
    /// nil while the persona is not published.
    public var newestVersion: Int?

    public init(personaID: PersonaID, name: String?, version: Int?, newestVersion: Int?) {
        self.personaID = personaID
        self.name = name
        self.version = version
        self.newestVersion = newestVersion
    }
}

/// How a persona was used in the last 30 days. All nil below 20 users.
public struct PersonaStatistics: Sendable, Equatable {
    public var users: Int?
    public var conversations: Int?
    public var turns: Int?

    public init(users: Int?, conversations: Int?, turns: Int?) {
        self.users = users
        self.conversations = conversations
        self.turns = turns
    }
}
