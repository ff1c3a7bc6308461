import GatewayAPI
import JSON

/// The whole content of a persona.
public struct PersonaDraft: Sendable, Equatable {
    /// 1–80 characters.
    public var name: String
    /// At most 500 characters.
    public var description: String?
    /// The name of a coaching domain.
    public var domain: String?
    /// A text, a list of texts, or an object of texts; so are the next two.
    public var tone: JSONValue?
    public var methodology: JSONValue?
    public var personality: JSONValue?
    /// First messages that users can choose, at most six of 200 characters.
    public var starters: [String]
    /// BCP 47, at most ten.
    public var languages: [String]

    public init(
        name: String, description: String? = nil, domain: String? = nil, tone: JSONValue? = nil, methodology: JSONValue? = nil,
        personality: JSONValue? = nil, starters: [String] = [], languages: [String] = []
    ) {
        self.name = name
        self.description = description
        self.domain = domain
        self.tone = tone
        self.methodology = methodology
        self.personality = personality
        self.starters = starters
        self.languages = languages
    }

    /// The present draft of a persona, to be edited.
    public init(_ persona: PersonaResource) {
        let content = persona.content
        func setting(_ name: String) -> JSONValue? { content[name].flatMap { $0 == .null ? nil : $0 } }
        func texts(_ name: String) -> [String] { (content[name]?.elements ?? []).compactMap(\.string) }
        self.init(
            name: content["name"]?.string ?? "", description: content["description"]?.string, domain: content["domain"]?.string,
            tone: setting("tone"), methodology: setting("methodology"), personality: setting("personality"), starters: texts("starters"),
            languages: texts("languages"))
    }

    var json: JSONValue {
        [
            "name": .string(name), "description": description.map { .string($0) } ?? .null, "domain": domain.map { .string($0) } ?? .null,
            "tone": tone ?? .null, "methodology": methodology ?? .null, "personality": personality ?? .null,
            "starters": .array(starters.map { .string($0) }), "languages": .array(languages.map { .string($0) }),
        ]
    }
}
