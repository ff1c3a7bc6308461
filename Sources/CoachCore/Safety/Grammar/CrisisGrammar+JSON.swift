import Foundation

extension CrisisGrammar {
    /// Parses and validates the file. The error has all findings.
    public init(json: Data, file: String = "crisis-grammar.json") throws(ConfigurationRejected) {
        let collector = FindingCollector()
        guard let root = ConfigurationNode.root(of: json, file: file, collector: collector) else {
            throw ConfigurationRejected(findings: collector.findings)
        }
        root.allow(["version", "about", "classes", "markers", "corrected", "entries", "idioms", "follow_ups"])
        version = root.integer("version", 1...1_000_000)
        classes = CrisisGrammar.readClasses(root)
        markers = CrisisGrammar.readMarkers(root)
        corrected = root.texts("corrected", count: 0...500, length: Lexicon.minimumCorrectedLength...40)
        var reader = RuleReader(classes: Set(classes.keys))
        entries = root.list("entries", 1...2_000).compactMap { reader.entry($0) }
        idioms = root.list("idioms", 0...2_000).compactMap { reader.idiom($0) }
        followUps = root.list("follow_ups", 0...500).compactMap { reader.followUp($0) }
        try collector.rejectIfAny()
    }

    private static func readClasses(_ root: ConfigurationNode) -> [String: [String]] {
        guard let object = root.object("classes") else { return [:] }
        let written = Dictionary(
            uniqueKeysWithValues: object.keys.map { ($0, object.texts($0, count: 1...400, length: 1...100)) })
        var read: [String: [String]] = [:]
        for (name, phrases) in written {
            read[name] = phrases.flatMap { phrase -> [String] in
                guard phrase.hasPrefix("{"), phrase.hasSuffix("}") else { return PhraseExpansion.expand(phrase) }
                // References are resolved one level deep: this suffices for "die or disappear" and cannot cycle.
                guard let inner = written[String(phrase.dropFirst().dropLast())] else {
                    object.report(name, .unknownReference(phrase))
                    return []
                }
                return inner.filter { !$0.hasPrefix("{") }.flatMap(PhraseExpansion.expand)
            }
        }
        return read
    }

    private static func readMarkers(_ root: ConfigurationNode) -> [Marker: [String]] {
        guard let object = root.object("markers") else { return [:] }
        object.allow(Set(Marker.allCases.map(\.name)))
        return Dictionary(
            uniqueKeysWithValues: Marker.allCases.map { marker in
                (marker, object.texts(marker.name, count: 1...400, length: 1...100).flatMap(PhraseExpansion.expand))
            })
    }
}

/// Expands endings: `kill/s/ed/ing` → kill, kills, killed, killing. Each word of a phrase may have them; the result is every combination.
enum PhraseExpansion {
    static func expand(_ phrase: String) -> [String] {
        phrase.split(separator: " ").reduce([""]) { heads, word in
            let parts = word.split(separator: "/", omittingEmptySubsequences: false)
            let stem = String(parts[0])
            let forms = [stem] + parts.dropFirst().map { stem + $0 }
            return heads.flatMap { head in forms.map { head.isEmpty ? $0 : head + " " + $0 } }
        }
    }
}

/// Parses entries, idioms and follow-ups. Ids are unique over all three.
private struct RuleReader {
    let classes: Set<String>
    private var seen: Set<String> = []

    init(classes: Set<String>) { self.classes = classes }

    mutating func entry(_ node: ConfigurationNode) -> CrisisGrammar.Entry? {
        node.allow(["id", "language", "category", "tier", "subject", "patterns", "negatable", "hyperbole", "ambiguous", "timeless"])
        let id = identifier(node)
        let language = language(node)
        let tier = RiskTier(rawValue: node.integer("tier", 1...4))
        let subject: RiskSubject? = subject(node)
        let patterns = patterns(node)
        guard let category = node.choice("category", RiskCategory.self), let tier, let subject else { return nil }
        return CrisisGrammar.Entry(
            id: id, language: language, category: category, tier: tier, subject: subject,
            negatable: node.member("negatable") == nil || node.flag("negatable"), hyperbole: node.flag("hyperbole"),
            ambiguous: node.flag("ambiguous"), timeless: node.flag("timeless"), patterns: patterns)
    }

    mutating func idiom(_ node: ConfigurationNode) -> CrisisGrammar.Idiom? {
        node.allow(["id", "language", "thing", "patterns"])
        return CrisisGrammar.Idiom(
            id: identifier(node), language: language(node), isThing: node.flag("thing"), patterns: patterns(node))
    }

    mutating func followUp(_ node: ConfigurationNode) -> CrisisGrammar.FollowUp? {
        node.allow(["id", "language", "category", "patterns", "at_concern", "at_crisis", "needs_question"])
        let id = identifier(node)
        let language = language(node)
        let atConcern = RiskTier(rawValue: node.integer("at_concern", 0...4))
        let atCrisis = RiskTier(rawValue: node.integer("at_crisis", 1...4))
        let patterns = patterns(node)
        guard let category = node.choice("category", RiskCategory.self), let atConcern, let atCrisis else { return nil }
        return CrisisGrammar.FollowUp(
            id: id, language: language, category: category, tierAtConcern: atConcern, tierAtCrisis: atCrisis,
            needsQuestion: node.flag("needs_question"), patterns: patterns)
    }

    private mutating func identifier(_ node: ConfigurationNode) -> String {
        let id = node.text("id", 4...80)
        if !id.isEmpty, !seen.insert(id).inserted { node.report("id", .duplicate(id)) }
        return id
    }

    private func language(_ node: ConfigurationNode) -> String {
        let language = node.text("language", 2...2)
        if !["en", "es", "mi", "de", "fr", ""].contains(language) { node.report("language", .outOfBounds("en, es, mi, de or fr")) }
        return language
    }

    private func subject(_ node: ConfigurationNode) -> RiskSubject? {
        guard let subject = RiskSubject(rawValue: node.text("subject")) else {
            node.report("subject", .wrongType(expected: "self, other or unclear"))
            return nil
        }
        return subject
    }

    private func patterns(_ node: ConfigurationNode) -> [WordPattern] {
        node.list("patterns", 1...200).compactMap { item -> WordPattern? in
            guard let text = item.text(1...1_000) else { return nil }
            do throws(WordPattern.SyntaxError) {
                let pattern = try WordPattern(text)
                for case .wordClass(let name) in pattern.elements.flatMap(\.alternatives) where !classes.contains(name) {
                    item.report(.unknownReference("{\(name)}"))
                }
                return pattern
            } catch {
                item.report(.syntax(error.reason))
                return nil
            }
        }
    }
}
