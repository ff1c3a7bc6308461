import JSON

extension OutputRules {
    /// Parses and validates the file. The error has all findings.
    public init(json: [UInt8], file: String = "output-guard.json") throws(ConfigurationRejected) {
        self = try ConfigurationRejected.read(json, file: file, OutputRules.init)
    }

    private init(_ root: JSONReader) throws(JSONFinding) {
        version = try root.required("version", .integer(1...1_000_000))
        let classList = try root.object("classes")
        var classes: [String: [String]] = [:]
        for name in classList.names { classes[name] = try OutputRules.words(classList, name) }
        self.classes = classes
        negations = try OutputRules.words(root, "negations")
        reporting = try OutputRules.words(root, "reporting")
        conditions = try OutputRules.words(root, "conditions")
        negatedVerbs = try OutputRules.words(root, "negated_verbs")
        negationsOfNoVerb = try OutputRules.words(root, "negations_of_no_verb")
        worries = try OutputRules.words(root, "worries")
        clauseWords = try OutputRules.words(root, "clause_words")
        questions = try OutputRules.words(root, "questions")
        calling = try OutputRules.words(root, "calling")
        afterNumber = try OutputRules.words(root, "after_number")
        betweenNumbers = try OutputRules.words(root, "between_numbers")
        abbreviations = try OutputRules.words(root, "abbreviations")
        let names = try root.object("digits")
        digits = []
        for digit in 0...9 { digits.append(try OutputRules.words(names, "\(digit)")) }
        try names.rejectUnknown()
        rules = []
        var seen: Set<String> = []
        for element in try root.elements("rules", 1...1_000) {
            rules += try OutputRules.rules(element, classes: classes, seen: &seen)
        }
        if WordAutomaton.laneCount(of: rules) > WordAutomaton.maximumLanes {
            try root.report("rules", .invalid("has more than \(WordAutomaton.maximumLanes * UInt64.bitWidth) words"))
        }
        replacements = try OutputRules.replacements(root)
        try root.rejectUnknown(besides: ["about"])
    }

    /// One entry may have several patterns.
    private static func rules(
        _ json: JSONReader, classes: [String: [String]], seen: inout Set<String>
    ) throws(JSONFinding) -> [Rule] {
        let id: String = try json.required("id", .text(3...60))
        if !seen.insert(id).inserted { try json.report("id", .invalid("is the id of another rule")) }
        let kind: Kind = try json.required("kind", .choice)
        var rules: [Rule] = []
        for text: String in try json.required("patterns", .list(1...60, .text(1...400))) {
            let mayEndEarlier = text.hasSuffix(OutputRules.endMark)
            let elements = mayEndEarlier ? String(text.dropLast(OutputRules.endMark.count)) : text
            let heldFrom = OutputRules.heldElement(of: elements)
            let pattern: WordPattern
            do throws(WordPattern.SyntaxError) {
                pattern = try WordPattern(elements.filter { $0 != OutputRules.heldMark })
            } catch {
                try json.report("patterns", .invalid("\(text): \(error.reason)"))
                continue
            }
            let rule = Rule(id: id, kind: kind, heldFrom: heldFrom, pattern: pattern, mayEndEarlier: mayEndEarlier)
            if let reason = OutputRules.flaw(of: rule, classes: classes) { try json.report("patterns", .invalid("\(text): \(reason)")) }
            rules.append(rule)
        }
        try json.rejectUnknown()
        return rules
    }

    /// Precedes the element from which a match is held.
    private static let heldMark: Character = "!"
    /// Follows the last element when the sentence or the clause may end instead of it.
    private static let endMark = "|$"

    /// The index of the marked element; past the end when there is none.
    private static func heldElement(of text: String) -> Int {
        let elements = text.split(separator: " ").filter { !$0.hasPrefix("<") }
        return elements.firstIndex { $0.contains(heldMark) } ?? elements.count
    }

    private static func flaw(of rule: Rule, classes: [String: [String]]) -> String? {
        let (pattern, heldFrom) = (rule.pattern, rule.heldFrom)
        for alternative in pattern.elements.flatMap(\.alternatives) {
            switch alternative {
            case .phrase(let phrase): if !isWord(phrase) { return "not one word of the letters a to z: \(phrase)" }
            case .wordClass(let name): if name != number, classes[name] == nil { return "refers to the unknown {\(name)}" }
            }
        }
        guard heldFrom < pattern.elements.count else { return "has no element with !" }
        // The first letters of many ordinary words would wait, too.
        guard heldFrom > 0 || pattern.elements.count == 1 else { return "is held from its first word" }
        // An end finds held matches only.
        if rule.mayEndEarlier, heldFrom == pattern.elements.count - 1 { return "is held from its last word, before which it may end" }
        let held = pattern.elements[heldFrom...].reduce(0) { $0 + 1 + $1.gap.upperBound }
        guard held <= maximumHeldWords else { return "holds more than \(maximumHeldWords) words" }
        return WordAutomaton.length(of: pattern) <= UInt64.bitWidth ? nil : "has more than \(UInt64.bitWidth) words"
    }

    /// The class of numbers in digits.
    static let number = "NUMBER"

    private static func isWord(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { (0x61...0x7A).contains($0) } }

    private static func words(_ json: JSONReader, _ name: String) throws(JSONFinding) -> [String] {
        let words = (try json.required(name, .list(1...400, .text(1...100)))).flatMap(PhraseExpansion.expand)
        for word in words where !isWord(word) { try json.report(name, .invalid("not one word of the letters a to z: \(word)")) }
        return words
    }

    private static func replacements(_ root: JSONReader) throws(JSONFinding) -> [String: [Kind: String]] {
        let object = try root.object("replacements")
        var replacements: [String: [Kind: String]] = [:]
        for language in CrisisResources.languages {
            let texts = try object.object(language)
            for kind in Kind.allCases { replacements[language, default: [:]][kind] = try texts.required(kind.rawValue, .text(10...300)) }
            try texts.rejectUnknown()
        }
        try object.rejectUnknown()
        return replacements
    }
}
