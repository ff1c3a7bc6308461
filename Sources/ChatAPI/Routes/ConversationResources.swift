import CoachCore
import Foundation
import GatewayAPI
import JSON

extension ConversationResource {
    public init(_ record: ConversationRecord) {
        self.init(
            id: record.id.uuid, title: record.title, domain: record.domain?.rawValue, personaID: record.personaID?.uuid,
            lastMessageAt: Timestamp(record.lastMessageAt), createdAt: Timestamp(record.createdAt), updatedAt: Timestamp(record.updatedAt),
            deletedAt: record.deletedAt.map(Timestamp.init), ephemeral: record.isEphemeral,
            source: record.source.rawValue)
    }
}

extension MessageResource {
    public init(_ record: MessageRecord) {
        self.init(
            id: record.id.uuid, conversationID: record.conversationID.uuid, role: record.role.rawValue, content: record.content,
            status: record.status.rawValue, domain: record.domain?.rawValue, createdAt: Timestamp(record.createdAt),
            updatedAt: Timestamp(record.updatedAt), turnID: record.turnID?.uuid)
    }
}
