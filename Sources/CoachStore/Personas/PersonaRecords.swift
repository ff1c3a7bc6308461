import CoachCore
import Foundation
import JSON
import PostgresClient

extension PersonaRecord {
    static let columns: Query = """
        id, slug, status, visibility, published_version, (extract(epoch from published_at) * 1000000)::bigint, \
        (extract(epoch from created_at) * 1000000)::bigint, (extract(epoch from updated_at) * 1000000)::bigint, revision, \
        \(PersonaVersion.content)
        """

    /// The values of a draft's columns, from the JSON column `c`: name, description, domain, tone, methodology, personality, starters,
    /// languages.
    static let values: Query = """
        c ->> 'name', c ->> 'description', nullif(c -> 'domain', 'null'), nullif(c -> 'tone', 'null'), nullif(c -> 'methodology', 'null'), \
        nullif(c -> 'personality', 'null'), c -> 'starters', c -> 'languages'
        """
    static let assignments: Query = """
        (name, description, domain, tone, methodology, personality, starters, languages) = row (\(values))
        """

    /// The number of `columns`.
    static let width = 10

    init(row: borrowing Row, at first: Int = 0) throws {
        guard let status = Status(rawValue: try row.value(first + 2)),
            let visibility = PersonaVisibility(rawValue: try row.value(first + 3))
        else { throw StoreFault.unexpected("a persona has an unknown status or visibility") }
        self.init(
            id: try row.value(first), slug: try row.value(first + 1), status: status, visibility: visibility,
            publishedVersion: try row.value(first + 4), publishedAt: try row.date(first + 5),
            createdAt: Date(microseconds: try row.value(first + 6)), updatedAt: Date(microseconds: try row.value(first + 7)),
            revision: try row.value(first + 8), content: try .stored(try row.value(first + 9)))
    }
}

extension PersonaVersion {
    /// The members of `PersonaContent`, from the columns of a draft or of a version.
    static let content: Query = """
        jsonb_build_object(\
        'name', name, 'description', description, 'domain', domain, 'tone', tone, 'methodology', methodology, 'personality', personality, \
        'starters', coalesce(starters, '[]'), 'languages', coalesce(languages, '[]'))
        """
    static let columns: Query = "version, (extract(epoch from created_at) * 1000000)::bigint, \(content)"

    init(row: borrowing Row) throws {
        self.init(
            version: try row.value(0), createdAt: Date(microseconds: try row.value(1)), content: try .stored(try row.value(2)))
    }
}

extension PublishedPersona {
    /// The columns of the view `published_personas`, and of a version joined with its persona.
    static let columns: Query = """
        id, slug, version, (extract(epoch from published_at) * 1000000)::bigint, \
        jsonb_build_object(\
        'name', name, 'description', description, 'domain', domain, 'starters', coalesce(starters, '[]'), \
        'languages', coalesce(languages, '[]'))
        """

    init(row: borrowing Row, at first: Int = 0) throws {
        self.init(
            id: try row.value(first), slug: try row.value(first + 1), version: try row.value(first + 2),
            publishedAt: Date(microseconds: try row.value(first + 3)), content: try .stored(try row.value(first + 4)))
    }
}

extension PersonaStatistics: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            users: try json.optional("users"), conversations: try json.optional("conversations"), turns: try json.optional("turns"))
    }
}

extension ConversationPersona: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            personaID: try json.required("persona_id"), name: try json.optional("persona_name"), version: try json.optional("version"),
            newestVersion: try json.optional("newest_version"))
    }
}
