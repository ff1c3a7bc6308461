import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A link by which a creator shares a persona.
public struct ShareLinkResource: Sendable, Equatable {
    public var id: UUID
    /// For `personas/redeem` and the `share_token` of a chat request.
    public var token: String
    /// Path of the public page.
    public var path: String
    public var label: String?
    public var maximumUses: Int?
    /// Users who redeemed it.
    public var uses: Int
    public var expiresAt: Timestamp?
    public var createdAt: Timestamp

    public init(
        id: UUID, token: String, path: String, label: String?, maximumUses: Int?, uses: Int, expiresAt: Timestamp?, createdAt: Timestamp
    ) {
        self.id = id
        self.token = token
        self.path = path
        self.label = label
        self.maximumUses = maximumUses
        self.uses = uses
        self.expiresAt = expiresAt
        self.createdAt = createdAt
    }
}

extension ShareLinkResource: WireResource {
    public static let schemaName = "ShareLink"
    public static let fields: [Schema.Field] = [
        .init("id", .id), .init("token", .text), .init("path", .text), .init("label", .text.nullable),
        .init("max_uses", .integer.nullable), .init("uses", .integer), .init("expires_at", .time.nullable), .init("created_at", .time),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("token", token)
            writer.member("path", path)
            writer.member("label", label)
            writer.member("max_uses", maximumUses)
            writer.member("uses", uses)
            writer.member("expires_at", expiresAt)
            writer.member("created_at", createdAt)
        }
    }
}

/// The persona of a conversation.
public struct ConversationPersonaResource: Sendable, Equatable {
    public var personaID: UUID
    /// Its name in the version that answers. nil when there is none, and from a gateway of a release that did not send it.
    public var personaName: String?
    /// The version that answers; nil before the first turn.
    public var version: Int?
    /// nil while the persona is not published.
    public var newestVersion: Int?

    public init(personaID: UUID, personaName: String?, version: Int?, newestVersion: Int?) {
        self.personaID = personaID
        self.personaName = personaName
        self.version = version
        self.newestVersion = newestVersion
    }
}

extension ConversationPersonaResource: WireResource {
    public static let schemaName = "ConversationPersona"
    public static let fields: [Schema.Field] = [
        .init("persona_id", .id), .init("persona_name", .text.nullable), .init("version", .integer.nullable),
        .init("newest_version", .integer.nullable),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("persona_id", personaID)
            writer.member("persona_name", personaName)
            writer.member("version", version)
            writer.member("newest_version", newestVersion)
        }
    }
}

/// How a persona was used in the last 30 days. All figures are nil below 20 users.
public struct PersonaStatisticsResource: Sendable, Equatable {
    public var users: Int?
    public var conversations: Int?
    public var turns: Int?

    public init(users: Int?, conversations: Int?, turns: Int?) {
        self.users = users
        self.conversations = conversations
        self.turns = turns
    }
}

extension PersonaStatisticsResource: WireResource {
    public static let schemaName = "PersonaStatistics"
    public static let fields: [Schema.Field] = ["users", "conversations", "turns"].map { .init($0, .integer.nullable) }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("users", users)
            writer.member("conversations", conversations)
            writer.member("turns", turns)
        }
    }
}
