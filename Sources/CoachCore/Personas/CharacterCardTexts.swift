import JSON

/// The texts of a card that every program reads, and what they are of a persona:
///
/// | card | persona |
/// |---|---|
/// | `creator_notes` | `description`: both are for people |
/// | `description`, which describes the character to the model | `personality` |
/// | `personality` | the second text of `personality`; of a persona with a `tone`, that |
/// | `scenario` | `methodology` |
struct CharacterCardTexts {
    static let fields = ["creator_notes", "description", "personality", "scenario"]

    private let texts: [String: String]
    /// What `{{char}}` stands for. V3 prefers the nickname. One that is longer than a persona's name is not used, because it would fill the memory: a
    /// text of a card may have tens of thousands of placeholders.
    private let character: String

    /// - Parameter data: `data` of the card.
    init(_ data: JSONValue) {
        texts = Dictionary(uniqueKeysWithValues: Self.fields.map { ($0, data[$0]?.string ?? "") })
        let names = ["nickname", "name"].compactMap { data[$0]?.string }
        character = names.first { !$0.isEmpty && !PersonaContent.isLonger($0, than: PersonaContent.nameLimit) } ?? ""
    }

    /// The members of a persona's content.
    var content: [(member: String, value: JSONValue)] {
        [("description", .string(self["creator_notes"])), ("personality", .array(personality)), ("methodology", setting("scenario"))]
    }

    /// The content of an exported persona with what was changed in the card since: a field that has another text than its export. A card in which all
    /// are empty was exported by an earlier release.
    func merged(into own: JSONValue) -> (content: JSONValue, changed: Set<String>) {
        guard texts.values.contains(where: { !$0.isEmpty }) else { return (own, []) }
        let written = Self.written(own)
        var (content, changed) = (own, Set<String>())
        func set(_ member: String, _ value: JSONValue) {
            content = content.setting(member, to: value)
            changed.insert(member)
        }
        func isUnchanged(_ field: String) -> Bool { has(written[field] ?? "", field) }
        if !isUnchanged("creator_notes") { set("description", .string(self["creator_notes"])) }
        if !isUnchanged("scenario") { set("methodology", setting("scenario")) }
        if isPersonality(of: own) { return (content, changed) }
        if !own.isEmpty("tone") {
            if !isUnchanged("description") { set("personality", setting("description")) }
            if !isUnchanged("personality") { set("tone", setting("personality")) }
        } else if !isUnchanged("description") || !isUnchanged("personality") {
            // Without a personality the description stands in for it.
            let hasNone = own.isEmpty("personality") && isUnchanged("description")
            set("personality", hasNone ? setting("personality") : .array(personality))
        }
        return (content, changed)
    }

    /// The texts to be written into a card for a persona. One that still says the same stays as it is, with its placeholders.
    /// - Parameter isImported: whether the card is from elsewhere.
    func replaced(for content: JSONValue, isImported: Bool) -> [(field: String, text: String)] {
        let written = Self.written(content)
        let isKept = isImported && isPersonality(of: content)
        return Self.fields.compactMap { field in
            guard let text = written[field], !has(text, field) else { return nil }
            return isKept && ["description", "personality"].contains(field) ? nil : (field: field, text: text)
        }
    }

    private static func written(_ content: JSONValue) -> [String: String] {
        let (description, personality) = (content.text("description"), content.text("personality"))
        return [
            "creator_notes": description, "description": personality.isEmpty ? description : personality,
            "personality": content.text("tone"), "scenario": content.text("methodology"),
        ]
    }

    /// Whether a field says this, or says it once its placeholders are filled.
    private func has(_ text: String, _ field: String) -> Bool { texts[field] == text || self[field] == text }

    /// Whether the persona has the personality of the card, as it was imported, and no tone, which the card would have to say.
    private func isPersonality(of content: JSONValue) -> Bool {
        guard content.isEmpty("tone") else { return false }
        return personality.isEmpty ? content.isEmpty("personality") : content["personality"]?.elements == personality
    }

    private var personality: [JSONValue] {
        ["description", "personality"].map { self[$0] }.filter { !$0.isEmpty }.map { JSONValue.string($0) }
    }

    private func setting(_ field: String) -> JSONValue { self[field].isEmpty ? .null : .string(self[field]) }

    /// A text with the placeholders of character and user replaced, as both specifications require. An import does not know the users, so their
    /// placeholder becomes "the user".
    private subscript(field: String) -> String {
        (texts[field] ?? "").replacing(/(?i)\{\{\s*(?:char|(user))\s*\}\}|<(?:bot|char|(user))>/) { match in
            match.1 == nil && match.2 == nil ? character : "the user"
        }
    }
}

extension JSONValue {
    /// A member of a persona's content as prompts have it.
    fileprivate func text(_ member: String) -> String { self[member]?.promptText ?? "" }

    fileprivate func isEmpty(_ member: String) -> Bool { text(member).isEmpty }

    /// This object with a member replaced, or added at its end.
    func setting(_ key: String, to value: JSONValue) -> JSONValue {
        var all = members ?? []
        if let index = all.lastIndex(where: { $0.key == key }) { all[index].value = value } else { all.append(JSONMember(key, value)) }
        return .object(all)
    }
}
