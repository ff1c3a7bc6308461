import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An element of `GET /api/v1/messages/search`, and a line of the messages in an export.
public struct FoundMessageResource: Sendable, Equatable {
    public var conversationID: UUID
    /// That of the conversation: see `ConversationResource`.
    public var source: String
    public var message: MessageResource

    public init(conversationID: UUID, source: String, message: MessageResource) {
        self.conversationID = conversationID
        self.source = source
        self.message = message
    }
}

extension FoundMessageResource: WireResource {
    public static let schemaName = "FoundMessage"
    public static let fields: [Schema.Field] = [
        .init("conversation_id", .id), .init("source", .values(["app", "openai"])), .init("message", MessageResource.schema),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("conversation_id", conversationID)
            writer.member("source", source)
            writer.key(literal: "message")
            message.write(to: &writer)
        }
    }
}
