import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An element of `GET /api/v1/messages/search`, and a line of the messages in an export.
public struct FoundMessageResource: Sendable, Equatable {
    public var conversationID: UUID
    public var message: MessageResource

    public init(conversationID: UUID, message: MessageResource) {
        self.conversationID = conversationID
        self.message = message
    }
}

extension FoundMessageResource: WireResource {
    public static let schemaName = "FoundMessage"
    public static let fields: [Schema.Field] = [.init("conversation_id", .id), .init("message", MessageResource.schema)]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("conversation_id", conversationID)
            writer.key(literal: "message")
            message.write(to: &writer)
        }
    }
}
