/// The output rules, compiled. Immutable and shared by all answers.
public final class OutputGuard: Sendable {
    let table: WordTable
    let automaton: WordAutomaton
    let numbers: PhoneNumbers
    let replacements: [String: [OutputRules.Kind: String]]
    /// The roles of each word of the table.
    private let roles: [Role]
    /// The digit that each word of the table names.
    private let digits: [UInt8?]

    /// Effects of a word that do not depend on a pattern. Each is a list of `OutputRules`.
    struct Role: OptionSet {
        let rawValue: UInt16
        static let reports = Role(rawValue: 1)
        static let asks = Role(rawValue: 2)
        static let calls = Role(rawValue: 4)
        static let followsNumber = Role(rawValue: 8)
        static let negates = Role(rawValue: 16)
        static let conditions = Role(rawValue: 32)
        static let links = Role(rawValue: 64)
        static let abbreviates = Role(rawValue: 128)
        static let mayBeNegated = Role(rawValue: 256)
        static let negatesNoVerb = Role(rawValue: 512)
        static let worries = Role(rawValue: 1024)
        static let beginsClause = Role(rawValue: 2048)
    }

    /// `resources` has the phone numbers that an answer may contain.
    public init(rules: OutputRules, resources: CrisisResources) {
        var roles: [String: Role] = [:]
        for (words, role) in [
            (rules.reporting, Role.reports), (rules.questions, .asks), (rules.calling, .calls), (rules.afterNumber, .followsNumber),
            (rules.negations, .negates), (rules.conditions, .conditions), (rules.betweenNumbers, .links),
            (rules.abbreviations, .abbreviates), (rules.negatedVerbs, .mayBeNegated),
            (rules.negationsOfNoVerb, .negatesNoVerb), (rules.worries, .worries), (rules.clauseWords, .beginsClause),
        ] {
            for word in words { roles[word, default: []].insert(role) }
        }
        var digits: [String: UInt8] = [:]
        for (digit, names) in rules.digits.enumerated() {
            for name in names { digits[name] = UInt8(digit) }
        }
        var words = Set(roles.keys).union(digits.keys).union(rules.classes.values.joined())
        for case .phrase(let word) in rules.rules.flatMap(\.pattern.elements).flatMap(\.alternatives) { words.insert(word) }
        table = WordTable(words: words)
        automaton = WordAutomaton(rules, words: table.words)
        numbers = PhoneNumbers(resources.phoneNumbers)
        replacements = rules.replacements
        self.roles = table.words.map { roles[$0] ?? [] }
        self.digits = table.words.map { digits[$0] }
    }

    /// `word` is an index of the automaton. Unknown words and numbers have no role.
    func role(_ word: Int) -> Role { word < roles.count ? roles[word] : [] }

    /// The digit that a word names.
    func digit(_ word: Int) -> UInt8? { word < digits.count ? digits[word] : nil }

    /// The sentence that replaces a forbidden one, in the language of the patterns that matched. `language` is that of the user's device: it decides
    /// when these are none or several.
    func replacement(_ finding: OutputRules.Finding, language: String?) -> String {
        let own = finding.languages.contains { $0 == language } ? language : finding.languages.min() ?? language
        return (own.flatMap { replacements[$0] } ?? replacements["en"])?[finding.kind] ?? ""
    }
}
