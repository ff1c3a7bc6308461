import CoachCore
import GatewayAPI
import HTTPEdge
import JSON

extension AuthenticatedContext {
    /// The persona that the path names.
    var personaID: PersonaID {
        get throws(GatewayError) { try path("id", PersonaID.init(validating:)) }
    }
}

extension PersonaRecord {
    static let versioned = VersionedResource<PersonaRecord, PersonaResource>({ .init($0) }, version: { Int64($0.revision) })
}

extension PersonaVersionResource {
    init(_ version: PersonaVersion) {
        self.init(version: version.version, createdAt: Timestamp(version.createdAt), content: version.content)
    }
}

extension PersonaStatisticsResource {
    init(_ figures: PersonaStatistics) {
        self.init(users: figures.users, conversations: figures.conversations, turns: figures.turns)
    }
}

extension ConversationPersonaResource {
    init(_ persona: ConversationPersona) {
        self.init(
            personaID: persona.personaID.uuid, personaName: persona.name, version: persona.version, newestVersion: persona.newestVersion)
    }
}

extension ShareLinkResource {
    init(_ link: ShareLink) {
        self.init(
            id: link.id.uuid, token: link.token, path: "/p/\(link.token)", label: link.draft.label, maximumUses: link.draft.maximumUses,
            uses: link.uses, expiresAt: link.draft.expiresAt.map { Timestamp($0) }, createdAt: Timestamp(link.createdAt))
    }
}
