import JSON

/// What a creator writes of a persona, validated. Reading it reports every flaw of every text.
public struct PersonaContent: Sendable, Equatable, JSONReadable {
    public static let nameLimit = 80
    public static let descriptionLimit = 500
    /// One prompt setting as a prompt has it (`JSONValue.promptText`), in Unicode scalars: `PromptBuilder` cuts what is longer.
    public static let settingLimit = PromptBuilder.maximumTextScalars
    public static let starterCount = 6
    public static let starterLimit = 200
    public static let languageCount = 10
    /// Texts of a prompt setting that is a list or an object.
    public static let settingParts = 50

    /// The prompt settings in JSON, on the wire and for the database.
    public static let promptMembers = ["tone", "methodology", "personality"]

    /// The object with exactly these members; those not given are `null`.
    public let json: JSONValue

    /// Stands for a content with findings, and is discarded with them.
    static let placeholder = PersonaContent(json: .null)

    private init(json: JSONValue) { self.json = json }

    public init(_ body: JSONReader) throws(JSONFinding) {
        let name = try body.required("name", .text(1...Self.nameLimit))
        let description = try body.optional("description", .text(0...Self.descriptionLimit))
        let domain = try body.optional("domain", .domain)
        let starters = try body.optional("starters", .list(0...Self.starterCount, .text(1...Self.starterLimit))) ?? []
        let languages = try body.optional("languages", .list(0...Self.languageCount, .languageTag)) ?? []
        // The rules take time in proportion to a text's length. A text that is too long is rejected for that alone.
        let checkedName = Self.isLonger(name, than: Self.nameLimit) ? "" : name
        try PersonaTextRules.checkName(checkedName, body)
        for (field, texts, limit) in [
            ("description", [description ?? ""], Self.descriptionLimit), ("starters", starters, Self.starterLimit),
        ] {
            try PersonaTextRules.check(texts.filter { !Self.isLonger($0, than: limit) }, field, name: checkedName, body)
        }
        var settings: [JSONMember] = []
        for field in Self.promptMembers {
            let value = try body.value(field)
            settings.append(JSONMember(field, value ?? .null))
            guard let value else { continue }
            guard let texts = Self.texts(of: value) else {
                try body.report(field, .invalid("must be a text, a list of texts, or an object of texts"))
                continue
            }
            if Self.isLonger(value.promptText, than: Self.settingLimit) {
                try body.report(field, .tooLong(limit: Self.settingLimit))
            } else {
                try PersonaTextRules.check(texts, field, name: checkedName, body)
            }
        }
        json = .object(
            [
                JSONMember("name", .string(name)), JSONMember("description", description.map(JSONValue.string) ?? .null),
                JSONMember("domain", domain.map { .string($0.rawValue) } ?? .null),
                JSONMember("starters", .array(starters.map(JSONValue.string))),
                JSONMember("languages", .array(languages.map(JSONValue.string))),
            ] + settings)
    }

    /// Whether a text has more Unicode scalars than `limit`.
    static func isLonger(_ text: String, than limit: Int) -> Bool {
        text.utf8.count > limit && text.unicodeScalars.count > limit
    }

    /// All texts of a prompt setting, names of an object included, because they enter the prompt, too. nil for another form.
    private static func texts(of value: JSONValue) -> [String]? {
        switch value {
        case .string(let text): return [text]
        case .array(let elements) where elements.count <= settingParts:
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        case .object(let members) where members.count <= settingParts:
            let texts = members.compactMap(\.value.string)
            return texts.count == members.count ? members.map(\.key) + texts : nil
        default: return nil
        }
    }
}

extension JSONValue {
    /// A prompt setting as one text, as `gateway.prompt_text` makes it: texts of a list joined, those of an object as `key: value`.
    var promptText: String {
        switch self {
        case .string(let text): text
        case .array(let elements): elements.compactMap(\.string).joined(separator: "; ")
        // Other programs may change the order of members.
        case .object(let members):
            members.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.string ?? "")" }.joined(separator: "; ")
        default: ""
        }
    }
}

extension JSONField<Domain> {
    /// A name that is no domain is another error than those of a body (CONTRACT §2).
    fileprivate static var domain: Self {
        let names = Domain.allCases.map(\.rawValue)
        return Self { (json) throws(JSONFinding) in
            if json.declares(.choice(names)) { return .mindset }
            guard let name = json.value.string else { return try json.reject(.wrongType(expected: .string), .mindset) }
            if let domain = Domain(rawValue: name) { return domain }
            return try json.reject(.unavailable("must be \(names.joined(separator: " or "))"), .mindset)
        }
    }
}

extension JSONField<String> {
    /// A language tag of BCP 47: a language, and subtags of letters and digits.
    fileprivate static var languageTag: Self {
        .parsed("a language tag (BCP 47)", placeholder: "en") { text in
            text.utf8.count <= 35 && text.wholeMatch(of: /[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*/) != nil ? text : nil
        }
    }
}
