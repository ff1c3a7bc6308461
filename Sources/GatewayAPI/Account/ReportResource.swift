import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A report that was saved.
public struct ReportResource: Sendable, Equatable {
    public var id: UUID
    /// What is reported: a persona, or an answer.
    public var personaID: UUID?
    public var messageID: UUID?
    public var reason: String
    public var comment: String?

    public init(id: UUID, personaID: UUID?, messageID: UUID?, reason: String, comment: String?) {
        self.id = id
        self.personaID = personaID
        self.messageID = messageID
        self.reason = reason
        self.comment = comment
    }
}

extension ReportResource: WireResource {
    public static let schemaName = "Report"
    public static let fields: [Schema.Field] = [
        .init("id", .id), .init("persona_id", .id.nullable), .init("message_id", .id.nullable), .init("reason", .text),
        .init("comment", .text.nullable),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("persona_id", personaID)
            writer.member("message_id", messageID)
            writer.member("reason", reason)
            writer.member("comment", comment)
        }
    }
}
