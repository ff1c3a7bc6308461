import JSON

/// A character card, the exchange format of character editors: `chara_card_v2` and `chara_card_v3`, in JSON.
///
/// The whole card is kept, so that what has no counterpart here comes out again. Only texts that `PersonaContent` accepts enter a prompt; a card's
/// `system_prompt`, `post_history_instructions` and lore books never do.
public struct CharacterCard: Sendable, Equatable {
    private enum Spec: String, CaseIterable {
        case chara_card_v2, chara_card_v3
    }

    /// Name of our member of `data.extensions`: the content of a persona that was exported from here.
    private static let extensionName = "coach_gateway"

    /// Of an imported card (CONTRACT §2).
    public static let maximumBytes = 512 * 1024

    /// As it was imported.
    public let json: JSONValue
    /// What the persona gets of it.
    public let content: PersonaContent

    /// Reports what is wrong with the card, and with the content made of it, as paths of the card.
    public init(_ body: JSONReader) throws(JSONFinding) {
        _ = try body.required("spec", .choice) as Spec
        let data = try body.object("data")
        let name = try data.required("name", .text(1...PersonaContent.nameLimit))
        let mapped = try Self.content(of: data, name: name)
        let (content, findings) = JSONReader.collect(mapped.content, PersonaContent.init)
        for finding in findings { try body.report(mapped.path(finding.path), finding.problem) }
        self.content = content ?? .placeholder
        // Members that are only kept were not read: one that would come out changed is refused.
        try body.rejectFlaws()
        if body.value.containsInexactNumber { try body.report("data", .invalid("must not contain whole numbers of more than 64 bits")) }
        json = body.value
    }

    /// The card of a persona: the imported one, with the name and the content of now.
    /// - Parameter imported: nil for a persona that was not imported.
    public static func exported(_ content: JSONValue, imported: JSONValue?) -> JSONValue {
        let card = imported ?? ["spec": "chara_card_v3", "spec_version": "3.0", "data": .object(emptyData)]
        let data = card["data"] ?? .object([])
        let name = content["name"] ?? ""
        let extensions = (data["extensions"] ?? .object([])).setting(extensionName, to: content)
        return card.setting("data", to: data.setting("name", to: name).setting("extensions", to: extensions))
    }

    /// The members that V2 and V3 require.
    private static let emptyData: [JSONMember] =
        ["name", "description", "personality", "scenario", "first_mes", "mes_example", "creator_notes", "system_prompt"].map {
            JSONMember($0, "")
        } + [
            JSONMember("post_history_instructions", ""), JSONMember("alternate_greetings", []), JSONMember("tags", []),
            JSONMember("creator", ""), JSONMember("character_version", ""), JSONMember("extensions", .object([])),
            JSONMember("group_only_greetings", []),
        ]

    private static func content(of data: JSONReader, name: String) throws(JSONFinding) -> Mapped {
        if let own = try data.value("extensions")?[extensionName], own.members != nil {
            return Mapped(content: own.setting("name", to: .string(name)), isOwn: true)
        }
        let nickname = try data.optional("nickname", .text(0...JSONField<String>.anyLength)) ?? ""
        func text(_ field: String) throws(JSONFinding) -> String {
            let text = try data.optional(field, .text(0...JSONField<String>.anyLength)) ?? ""
            return withoutPlaceholders(text, character: nickname.isEmpty ? name : nickname)
        }
        // A card's `description` describes the character to the model; its notes are for people.
        let notes = try text("creator_notes")
        var personality: [JSONValue] = []
        for field in ["description", "personality"] {
            let text = try text(field)
            if !text.isEmpty { personality.append(.string(text)) }
        }
        let scenario = try text("scenario")
        return Mapped(
            content: [
                "name": .string(name), "description": .string(notes), "personality": .array(personality),
                "methodology": scenario.isEmpty ? .null : .string(scenario),
            ], isOwn: false)
    }

    /// Replaces the placeholders of character and user, as both specifications require; V3 prefers the nickname. An import does not know the
    /// users, so their placeholder becomes "the user".
    private static func withoutPlaceholders(_ text: String, character: String) -> String {
        text.replacing(/(?i)\{\{\s*(?:char|(user))\s*\}\}|<(?:bot|char|(user))>/) { match in
            match.1 == nil && match.2 == nil ? character : "the user"
        }
    }

    private struct Mapped {
        var content: JSONValue
        var isOwn: Bool

        /// The path in the card of what a finding is about.
        func path(_ field: String) -> String {
            if field == "name" { return "data.name" }
            if isOwn { return "data.extensions.\(CharacterCard.extensionName).\(field)" }
            return switch field {
            case "description": "data.creator_notes"
            case "methodology": "data.scenario"
            default: "data.description"
            }
        }
    }
}

extension JSONField<String> {
    /// For texts whose length is checked elsewhere.
    fileprivate static var anyLength: Int { Int.max }
}

extension JSONValue {
    /// This object with a member replaced, or added at its end.
    fileprivate func setting(_ key: String, to value: JSONValue) -> JSONValue {
        var all = members ?? []
        if let index = all.lastIndex(where: { $0.key == key }) { all[index].value = value } else { all.append(JSONMember(key, value)) }
        return .object(all)
    }
}

extension JSONValue {
    /// Whether it has a whole number beyond `Int64`, of which `number` keeps 53 bits.
    fileprivate var containsInexactNumber: Bool {
        switch self {
        case .number(let number): number == number.rounded() && number.magnitude >= 0x1p63
        case .array(let elements): elements.contains(where: \.containsInexactNumber)
        case .object(let members): members.contains(where: \.value.containsInexactNumber)
        case .string, .integer, .bool, .null: false
        }
    }
}
