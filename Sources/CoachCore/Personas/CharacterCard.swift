import JSON

/// A character card, the exchange format of character editors: `chara_card_v2` and `chara_card_v3`, in JSON. One of V1 is kept as V2: it has six texts,
/// without `spec` and `data` around them.
///
/// The whole card is kept, so that what has no counterpart here comes out again. Only texts that `PersonaContent` accepts enter a prompt; a card's
/// `system_prompt`, `post_history_instructions` and lore books never do.
public struct CharacterCard: Sendable, Equatable {
    private enum Spec: String, CaseIterable {
        case chara_card_v2, chara_card_v3
    }

    /// Name of our member of `data.extensions`: the content of a persona that was exported from here.
    private static let extensionName = "coach_gateway"

    /// The largest imported card (CONTRACT §2).
    public static let maximumBytes = 512 * 1024

    /// As it was imported.
    public let json: JSONValue
    /// What the persona gets of it.
    public let content: PersonaContent

    /// Reports what is wrong with the card, and with the content made of it, as paths of the card.
    public init(_ body: JSONReader) throws(JSONFinding) {
        let isV1 = Self.isV1(body.value)
        if !isV1 { _ = try body.required("spec", .choice) as Spec }
        let data = try isV1 ? body : body.object("data")
        let name = try data.required("name", .text(1...PersonaContent.nameLimit))
        let mapped = try Self.content(of: data, name: name)
        let (content, findings) = JSONReader.collect(mapped.content, PersonaContent.init)
        for finding in findings { try data.report(mapped.path(finding.path), finding.problem) }
        self.content = content ?? .placeholder
        // Members that are only kept were not read: one that would come out changed is refused.
        try body.rejectFlaws()
        if body.value.containsInexactNumber { try data.report(.invalid("must not contain whole numbers of more than 64 bits")) }
        json = isV1 ? Self.upgraded(body.value) : body.value
    }

    private static func isV1(_ card: JSONValue) -> Bool {
        card["spec"] == nil && card["data"] == nil
            && ["name", "description", "personality", "scenario", "first_mes", "mes_example"].allSatisfy { card[$0]?.string != nil }
    }

    /// A card of V1 as V2, which requires more members.
    private static func upgraded(_ card: JSONValue) -> JSONValue {
        let members = card.members ?? []
        let known = Set(members.map(\.key))
        let data = JSONValue.object(members + emptyData.filter { !known.contains($0.key) })
        return ["spec": "chara_card_v2", "spec_version": "2.0", "data": data]
    }

    /// The card of a persona: the imported one, with the name and the content of now, in its own texts and for ourselves.
    /// - Parameter imported: nil for a persona that was not imported.
    public static func exported(_ content: JSONValue, imported: JSONValue?) -> JSONValue {
        let card = imported ?? ["spec": "chara_card_v3", "spec_version": "3.0", "data": .object(emptyData)]
        var data = (card["data"] ?? .object([])).setting("name", to: content["name"] ?? "")
        for (field, text) in CharacterCardTexts(data).replaced(for: content, isImported: imported != nil) {
            data = data.setting(field, to: .string(text))
        }
        let extensions = (data["extensions"] ?? .object([])).setting(extensionName, to: content)
        return card.setting("data", to: data.setting("extensions", to: extensions))
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
        for field in CharacterCardTexts.fields + ["nickname"] { _ = try data.optional(field, .text(0...JSONField<String>.anyLength)) }
        let texts = CharacterCardTexts(data.value)
        if let own = try data.value("extensions")?[extensionName], own.members != nil {
            let (content, changed) = texts.merged(into: own.setting("name", to: .string(name)))
            return Mapped(content: content, changed: changed)
        }
        let members = texts.content.map { JSONMember($0.member, $0.value) }
        return Mapped(content: .object([JSONMember("name", .string(name))] + members), changed: nil)
    }

    private struct Mapped {
        var content: JSONValue
        /// The members that are of the card's own texts and not of our extension; nil: all.
        var changed: Set<String>?

        /// The path in `data` of what a finding is about.
        func path(_ field: String) -> String {
            if field == "name" { return "name" }
            if changed?.contains(field) == false { return "extensions.\(CharacterCard.extensionName).\(field)" }
            return switch field {
            case "description": "creator_notes"
            case "methodology": "scenario"
            case "tone": "personality"
            default: "description"
            }
        }
    }
}

extension JSONField<String> {
    /// For texts whose length is checked elsewhere.
    fileprivate static var anyLength: Int { Int.max }
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
