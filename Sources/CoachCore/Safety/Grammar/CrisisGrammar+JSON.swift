import JSON

extension CrisisGrammar {
    /// Parses and validates the file. The error has all findings.
    public init(json: [UInt8], file: String = "crisis-grammar.json") throws(ConfigurationRejected) {
        self = try ConfigurationRejected.read(json, file: file, CrisisGrammar.init)
    }

    private init(_ root: JSONReader) throws(JSONFinding) {
        version = try root.required("version", .integer(1...1_000_000))
        classes = try CrisisGrammar.readClasses(root)
        markers = try CrisisGrammar.readMarkers(root)
        corrected = try root.required("corrected", .list(0...500, .text(Lexicon.minimumCorrectedLength...40)))
        concepts = try CrisisGrammar.readConcepts(root)
        var reader = RuleReader(classes: Set(classes.keys))
        entries = []
        idioms = []
        followUps = []
        for element in try root.elements("entries", 1...2_000) { entries.append(try reader.entry(element)) }
        for element in try root.elements("idioms", 0...2_000) { idioms.append(try reader.idiom(element)) }
        for element in try root.elements("follow_ups", 0...500) { followUps.append(try reader.followUp(element)) }
        try root.rejectUnknown(besides: ["about"])
    }

    private static func readClasses(_ root: JSONReader) throws(JSONFinding) -> [String: [String]] {
        let object = try root.object("classes")
        var written: [String: [String]] = [:]
        for name in object.names { written[name] = try object.required(name, .list(1...400, .text(1...100))) }
        var read: [String: [String]] = [:]
        for (name, phrases) in written {
            for phrase in phrases {
                guard phrase.hasPrefix("{"), phrase.hasSuffix("}") else {
                    read[name, default: []] += PhraseExpansion.expand(phrase)
                    continue
                }
                // References are resolved one level deep: this suffices for "die or disappear" and cannot cycle.
                guard let inner = written[String(phrase.dropFirst().dropLast())] else {
                    try object.report(name, .invalid("refers to the unknown \(phrase)"))
                    continue
                }
                read[name, default: []] += inner.filter { !$0.hasPrefix("{") }.flatMap(PhraseExpansion.expand)
            }
        }
        return read
    }

    private static func readConcepts(_ root: JSONReader) throws(JSONFinding) -> [String: [String]] {
        let object = try root.object("concepts")
        var concepts: [String: [String]] = [:]
        for name in object.names {
            concepts[name] = try object.required(name, .text(1...4_000)).split(separator: " ").map(String.init)
        }
        if concepts.count > ConceptLexicon.maximumCount { try root.report("concepts", .invalid("has too many concepts")) }
        return concepts
    }

    private static func readMarkers(_ root: JSONReader) throws(JSONFinding) -> [Marker: [String]] {
        let object = try root.object("markers")
        var markers: [Marker: [String]] = [:]
        for marker in Marker.allCases {
            let phrases = try object.required(marker.name, .list(1...400, .text(1...100)))
            markers[marker] = phrases.flatMap(PhraseExpansion.expand)
        }
        try object.rejectUnknown()
        return markers
    }
}

/// Parses entries, idioms and follow-ups. Ids are unique over all three.
private struct RuleReader {
    let classes: Set<String>
    private var seen: Set<String> = []

    init(classes: Set<String>) { self.classes = classes }

    mutating func entry(_ json: JSONReader) throws(JSONFinding) -> CrisisGrammar.Entry {
        let entry = CrisisGrammar.Entry(
            id: try identifier(json), language: try language(json), category: try json.required("category"),
            tier: try tier(json, "tier", from: .concern), subject: try json.required("subject", .choice),
            negatable: try json.optional("negatable") ?? true, hyperbole: try json.optional("hyperbole") ?? false,
            ambiguous: try json.optional("ambiguous") ?? false, timeless: try json.optional("timeless") ?? false,
            certain: try json.optional("certain") ?? false, patterns: try patterns(json),
            unclear: json.contains("unclear") ? try patterns(json, "unclear") : [])
        try json.rejectUnknown()
        return entry
    }

    mutating func idiom(_ json: JSONReader) throws(JSONFinding) -> CrisisGrammar.Idiom {
        let idiom = CrisisGrammar.Idiom(
            id: try identifier(json), language: try language(json), isThing: try json.optional("thing") ?? false,
            patterns: try patterns(json))
        try json.rejectUnknown()
        return idiom
    }

    mutating func followUp(_ json: JSONReader) throws(JSONFinding) -> CrisisGrammar.FollowUp {
        let followUp = CrisisGrammar.FollowUp(
            id: try identifier(json), language: try language(json), category: try json.required("category"),
            tierAtConcern: try tier(json, "at_concern", from: .none), tierAtCrisis: try tier(json, "at_crisis", from: .concern),
            answer: try json.optional("answer", .choice), patterns: try patterns(json))
        try json.rejectUnknown()
        return followUp
    }

    private mutating func identifier(_ json: JSONReader) throws(JSONFinding) -> String {
        let id = try json.required("id", .text(4...80))
        if !id.isEmpty, !seen.insert(id).inserted { try json.report("id", .invalid("is given twice: \(id)")) }
        return id
    }

    private func language(_ json: JSONReader) throws(JSONFinding) -> String {
        let language = try json.required("language", .text(2...2))
        if !["en", "es", "mi", "de", "fr", "pt", ""].contains(language) {
            try json.report("language", .invalid("must be en, es, mi, de, fr or pt"))
        }
        return language
    }

    private func tier(_ json: JSONReader, _ name: String, from lowest: RiskTier) throws(JSONFinding) -> RiskTier {
        let tier: RiskTier = try json.required(name, .choice)
        if tier < lowest { try json.report(name, .invalid("must be at least \(lowest.rawValue)")) }
        return tier
    }

    private func patterns(_ json: JSONReader, _ name: String = "patterns") throws(JSONFinding) -> [WordPattern] {
        var patterns: [WordPattern] = []
        for element in try json.elements(name, 1...200) {
            let text = try JSONField.text(1...1_000).read(element)
            guard element.isSound else { continue }
            do throws(WordPattern.SyntaxError) {
                patterns.append(try WordPattern(text))
            } catch {
                try element.report(.invalid(error.reason))
                continue
            }
            for case .wordClass(let name) in patterns.last?.elements.flatMap(\.alternatives) ?? [] where !classes.contains(name) {
                try element.report(.invalid("refers to the unknown {\(name)}"))
            }
        }
        return patterns
    }
}

extension CrisisGrammar {
    /// Whether a pattern's id is that of a follow-up.
    static func isFollowUp(_ id: String) -> Bool { id.contains(".follow-up.") }
}
