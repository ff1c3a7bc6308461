import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A persona as its creator sees it.
public struct PersonaResource: Sendable, Equatable {
    public var id: UUID
    public var slug: String?
    /// `draft`, `published`, `unpublished` or `withdrawn`.
    public var status: String
    /// `link` or `listed`.
    public var visibility: String
    public var publishedVersion: Int?
    public var publishedAt: Timestamp?
    public var createdAt: Timestamp
    public var updatedAt: Timestamp
    /// The draft, an object with the members of `PersonaFields`.
    public var content: JSONValue

    public init(
        id: UUID, slug: String?, status: String, visibility: String, publishedVersion: Int?, publishedAt: Timestamp?, createdAt: Timestamp,
        updatedAt: Timestamp, content: JSONValue
    ) {
        self.id = id
        self.slug = slug
        self.status = status
        self.visibility = visibility
        self.publishedVersion = publishedVersion
        self.publishedAt = publishedAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.content = content
    }
}

extension PersonaResource: WireResource {
    public static let schemaName = "Persona"
    public static let fields: [Schema.Field] =
        [.init("id", .id), .init("slug", .text.nullable)] + PersonaFields.publicFields + PersonaFields.promptFields + [
            .init("status", .values(["draft", "published", "unpublished", "withdrawn"])),
            .init("visibility", .values(["link", "listed"])), .init("published_version", .integer.nullable),
            .init("published_at", .time.nullable), .init("created_at", .time), .init("updated_at", .time),
        ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("slug", slug)
            PersonaFields.write(PersonaFields.publicFields + PersonaFields.promptFields, of: content, to: &writer)
            writer.member("status", status)
            writer.member("visibility", visibility)
            writer.member("published_version", publishedVersion)
            writer.member("published_at", publishedAt)
            writer.member("created_at", createdAt)
            writer.member("updated_at", updatedAt)
        }
    }
}

/// An immutable version of a persona.
public struct PersonaVersionResource: Sendable, Equatable {
    public var version: Int
    public var createdAt: Timestamp
    public var content: JSONValue

    public init(version: Int, createdAt: Timestamp, content: JSONValue) {
        self.version = version
        self.createdAt = createdAt
        self.content = content
    }
}

extension PersonaVersionResource: WireResource {
    public static let schemaName = "PersonaVersion"
    public static let fields: [Schema.Field] =
        [.init("version", .integer), .init("created_at", .time)] + PersonaFields.publicFields + PersonaFields.promptFields

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("version", version)
            writer.member("created_at", createdAt)
            PersonaFields.write(PersonaFields.publicFields + PersonaFields.promptFields, of: content, to: &writer)
        }
    }
}

/// A published persona as users see it; never a prompt text.
public struct PublishedPersonaResource: Sendable, Equatable {
    public var id: UUID
    public var slug: String?
    public var version: Int
    public var publishedAt: Timestamp
    /// An object with the public members.
    public var content: JSONValue

    public init(id: UUID, slug: String?, version: Int, publishedAt: Timestamp, content: JSONValue) {
        self.id = id
        self.slug = slug
        self.version = version
        self.publishedAt = publishedAt
        self.content = content
    }
}

extension PublishedPersonaResource: WireResource {
    public static let schemaName = "PublishedPersona"
    public static let fields: [Schema.Field] =
        [.init("id", .id), .init("slug", .text.nullable)] + PersonaFields.publicFields + [
            .init("version", .integer), .init("published_at", .time),
        ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("slug", slug)
            PersonaFields.write(PersonaFields.publicFields, of: content, to: &writer)
            writer.member("version", version)
            writer.member("published_at", publishedAt)
        }
    }
}

/// The members of a persona's content, in their order on the wire.
enum PersonaFields {
    static let publicFields: [Schema.Field] = [
        .init("name", .text), .init("description", .text.nullable), .init("domain", .any.described("a domain, or null").nullable),
        .init("starters", .array(of: .text)), .init("languages", .array(of: .text)),
    ]
    static let promptFields: [Schema.Field] = ["tone", "methodology", "personality"].map {
        .init($0, .any.described("a text, a list of texts, an object of texts, or null").nullable)
    }

    static func write(_ fields: [Schema.Field], of content: JSONValue, to writer: inout JSONWriter) {
        for field in fields {
            writer.key(field.name)
            (content[field.name] ?? .null).write(to: &writer)
        }
    }
}
