import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `GET /api/v1/sync`: rows that changed, in their current state.
public struct SyncResource: Sendable, Equatable {
    public enum Change: Sendable, Equatable {
        case profile(ContextProfileResource)
        /// With `deleted_at` for a deleted one, of which the client drops the messages, too.
        case conversation(ConversationResource)
        case message(MessageResource, conversationID: UUID)
        /// One that the user may talk to, of another creator.
        case persona(PublishedPersonaResource)
        /// The draft of one of the user's own.
        case ownPersona(PersonaResource)
        /// One that is gone, or that the user may begin no conversation with any more.
        case personaRemoved(UUID)
    }

    public var changes: [Change]
    /// `since` of the next request; opaque.
    public var next: String
    /// Whether there are more changes already.
    public var hasMore: Bool
    /// Whether the request's `since` is not valid any more: the client drops its copy, and the changes are the first of all.
    public var reset: Bool

    public init(changes: [Change], next: String, hasMore: Bool, reset: Bool) {
        self.changes = changes
        self.next = next
        self.hasMore = hasMore
        self.reset = reset
    }
}

extension SyncResource.Change {
    static let schema = Schema.oneOf(
        [
            change("SyncProfile", "profile", [.init("profile", ContextProfileResource.schema)]),
            change("SyncConversation", "conversation", [.init("conversation", ConversationResource.schema)]),
            change("SyncMessage", "message", [.init("conversation_id", .id), .init("message", MessageResource.schema)]),
            change("SyncPersona", "persona", [.init("persona", PublishedPersonaResource.schema)]),
            change("SyncOwnPersona", "own_persona", [.init("own_persona", PersonaResource.schema)]),
            change("SyncPersonaRemoved", "persona_removed", [.init("persona_id", .id)]),
        ], discriminator: "type"
    ).named("SyncChange")

    private static func change(_ name: String, _ type: String, _ fields: [Schema.Field]) -> Schema {
        Schema.object([.init("type", .values([type]))] + fields).named(name)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .profile(let profile):
                writer.member("type", "profile")
                writer.key(literal: "profile")
                profile.write(to: &writer)
            case .conversation(let conversation):
                writer.member("type", "conversation")
                writer.key(literal: "conversation")
                conversation.write(to: &writer)
            case .message(let message, let conversationID):
                writer.member("type", "message")
                writer.member("conversation_id", conversationID)
                writer.key(literal: "message")
                message.write(to: &writer)
            case .persona(let persona):
                writer.member("type", "persona")
                writer.key(literal: "persona")
                persona.write(to: &writer)
            case .ownPersona(let persona):
                writer.member("type", "own_persona")
                writer.key(literal: "own_persona")
                persona.write(to: &writer)
            case .personaRemoved(let id):
                writer.member("type", "persona_removed")
                writer.member("persona_id", id)
            }
        }
    }
}

extension SyncResource: WireResource {
    public static let schemaName = "Sync"
    public static let fields: [Schema.Field] = [
        .init("changes", .array(of: Change.schema)), .init("next", .text), .init("has_more", .boolean), .init("reset", .boolean),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key(literal: "changes")
            writer.array { writer in for change in changes { change.write(to: &writer) } }
            writer.member("next", next)
            writer.member("has_more", hasMore)
            writer.member("reset", reset)
        }
    }
}
