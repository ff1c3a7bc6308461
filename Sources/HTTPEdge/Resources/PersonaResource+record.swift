import CoachCore
import GatewayAPI
import JSON

extension PersonaResource {
    public init(_ record: PersonaRecord) {
        self.init(
            id: record.id.uuid, slug: record.slug, status: record.status.rawValue, visibility: record.visibility.rawValue,
            publishedVersion: record.publishedVersion, publishedAt: record.publishedAt.map { Timestamp($0) },
            createdAt: Timestamp(record.createdAt), updatedAt: Timestamp(record.updatedAt), content: record.content)
    }
}

extension PersonaContent {
    /// Throws what is wrong with stored content, as for the body of a request. A draft that came in behind PostgREST was not validated.
    public static func validate(_ content: JSONValue) throws { _ = try JSONReader.read(requestBody: content.bytes, PersonaContent.init) }
}

extension PublishedPersonaResource {
    public init(_ persona: PublishedPersona) {
        self.init(
            id: persona.id.uuid, slug: persona.slug, version: persona.version, publishedAt: Timestamp(persona.publishedAt),
            content: persona.content)
    }
}
