import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PersonaFields {
    /// Those members of an object that are of a persona's content.
    fileprivate static func content(of value: JSONValue) -> JSONValue {
        .object((publicFields + promptFields).compactMap { field in value[field.name].map { JSONMember(field.name, $0) } })
    }
}

extension PersonaResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"),
            slug: try json.optional("slug"),
            status: try json.required("status"),
            visibility: try json.required("visibility"),
            publishedVersion: try json.optional("published_version"),
            publishedAt: try json.optional("published_at"),
            createdAt: try json.required("created_at"),
            updatedAt: try json.required("updated_at"),
            content: PersonaFields.content(of: json.value))
    }
}

extension PersonaVersionResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            version: try json.required("version"),
            createdAt: try json.required("created_at"),
            content: PersonaFields.content(of: json.value))
    }
}

extension PublishedPersonaResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"),
            slug: try json.optional("slug"),
            version: try json.required("version"),
            publishedAt: try json.required("published_at"),
            content: PersonaFields.content(of: json.value))
    }
}

extension PersonaStatisticsResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            users: try json.optional("users"),
            conversations: try json.optional("conversations"),
            turns: try json.optional("turns"))
    }
}

extension ConversationPersonaResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            personaID: try json.required("persona_id"),
            personaName: try json.optional("persona_name"),
            version: try json.optional("version"),
            newestVersion: try json.optional("newest_version"))
    }
}

extension ShareLinkResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"),
            token: try json.required("token"),
            path: try json.required("path"),
            label: try json.optional("label"),
            maximumUses: try json.optional("max_uses"),
            uses: try json.required("uses"),
            expiresAt: try json.optional("expires_at"),
            createdAt: try json.required("created_at"))
    }
}
