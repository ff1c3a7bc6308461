/// The validated content of `domains/safety/output-guard.json`: text that an answer must not contain, and its replacements.
public struct OutputRules: Sendable, Equatable {
    /// Why a sentence of an answer is replaced.
    public enum Kind: String, Sendable, CaseIterable {
        /// Details of a method, a means or a dose.
        case method
        /// Agreement that a person should be harmed.
        case encouragement
        /// A promise of secrecy.
        case secrecy
        /// A claim to be a human or a therapist.
        case identity
        /// A disorder that the user is said to have.
        case diagnosis
        /// A part of the system prompt.
        case instructions
        /// A phone number or short code that is not in the resource table.
        case phone

        /// True when the rule applies to statements of the answer only, not to questions, quotations or conditions ("if you feel that …").
        var isClaim: Bool { self == .encouragement || self == .secrecy || self == .identity || self == .diagnosis }
    }

    /// What a part of an answer matched.
    struct Finding: Sendable, Equatable {
        var kind: Kind
        /// The languages, ISO 639-1, of the patterns that matched. Empty for phone numbers, the system prompt and English: an answer in another
        /// language may contain an English phrase.
        var languages: Set<String> = []
    }

    /// A pattern over the words of one sentence. Each element has one word. An apostrophe separates words ("i m"). Gaps contain no negation.
    struct Rule: Sendable, Equatable {
        var id: String
        var kind: Kind
        /// The index of the element from whose word on the text is held, until the pattern matches or fails. Words before it are released.
        var heldFrom: Int
        var pattern: WordPattern
        /// Whether the sentence or the clause may end instead of the last element.
        var mayEndEarlier: Bool

        /// What a match finds. The first part of the id is the language of the pattern.
        var finding: Finding {
            let language = String(id.prefix { $0 != "." })
            return Finding(kind: kind, languages: language != "en" && CrisisResources.languages.contains(language) ? [language] : [])
        }
    }

    /// Version of the file; its editors increment it.
    public var version: Int
    /// Words of each class, folded and with their endings expanded.
    var classes: [String: [String]]
    var rules: [Rule]
    /// Words that negate: gaps do not contain them.
    var negations: [String]
    /// Words after which a sentence reports what others say or think.
    var reporting: [String]
    /// Words after which a sentence states nothing up to a comma: "if".
    var conditions: [String]
    /// Verbs that state nothing in their clause when a negation is near before them: "I can't promise that this stays between us".
    var negatedVerbs: [String]
    /// Those of `negations` that negate no verb: "Instead I suggest".
    var negationsOfNoVerb: [String]
    /// Words after which a clause states nothing: "I'm worried that you might".
    var worries: [String]
    /// Words that begin a clause without a comma: "but".
    var clauseWords: [String]
    /// First words of questions.
    var questions: [String]
    /// Words before a phone number: a short number near them is a short code.
    var calling: [String]
    /// Words that follow a short code, but no quantity: "text 12345 now", not "text 300 people".
    var afterNumber: [String]
    /// Words between the numbers of a range: "250 to 300".
    var betweenNumbers: [String]
    /// Words whose full stop does not end a dropped sentence, also before a capital letter: "Dr. Doe".
    var abbreviations: [String]
    /// The ten digits, each with its names.
    var digits: [[String]]
    /// The replacement, by language (ISO 639-1), then by kind.
    var replacements: [String: [Kind: String]]

    /// Longest part of a pattern, in words, that can be held.
    static let maximumHeldWords = 24
}
