/// The validated content of `domains/safety/crisis-grammar.json`: the words and patterns that detect danger.
public struct CrisisGrammar: Sendable, Equatable {
    /// A class of words that change the meaning of a pattern near them; see `ContextModifiers`.
    public enum Marker: Int, Sendable, CaseIterable {
        /// Allowed between any two elements of a pattern: "just", "really".
        case filler
        /// Function words: "I", "want to", "tonight". An idiom need not cover them; the scope of a negation extends across them.
        case frame
        /// A thought or a plan: "thoughts of", "no intention to". The scope of a negation extends across it; an idiom must cover it.
        case intention
        /// Negates what follows it in its clause: "not", "never", "sin".
        case negator
        /// Contains a negator that negates nothing: "can't stop", "not only".
        case notNegator
        /// Negates the whole statement directly after it: "I don't think", "no es que".
        case deniedStatement
        /// Begins a new clause: "but", "because", "pero".
        case clauseBreak
        /// The danger is over: "years ago", "in recovery".
        case resolvedPast
        /// Past tense: "was", "tried".
        case past
        /// A present wish or intention of the user: "I want", "voy a".
        case wish
        /// The danger is present: "again", "lately".
        case present
        /// Fiction: "my novel", "song lyrics".
        case creative
        /// Denies that it is fiction: "fine, not a story".
        case creativeDenied
        /// Work or study: "for my essay", "training managers".
        case professional
        /// Laughter: "lol", the emoji.
        case humour
        /// Small annoyances, near which hard words are exaggeration: "password", "the queue".
        case trivial
        /// Ordinary topics: work, study, sport, travel.
        case everyday
        /// Denies that it is a joke: "no seriously", "not joking".
        case earnest
        /// Withdraws an earlier denial: "I lied".
        case retraction
        /// Names the user: "I", "me".
        case firstPerson
        /// Names another person.
        case thirdPerson
        /// Names a person the user knows: "my friend", "she"; not "a client".
        case certainPerson
        /// A question about danger in a coach's message.
        case safetyQuestion
        /// A question whether the user is safe or not alone in a coach's message.
        case whetherSafe
        /// One that names suicide or self-harm.
        case dangerQuestion

        /// The key in the file, in snake case: `not_negator`.
        var name: String { "\(self)".reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) } }
    }

    /// Patterns that signal danger.
    public struct Entry: Sendable, Equatable {
        public var id: String
        /// ISO 639-1: `en`, `es` or, for the plainest phrases, `mi` (te reo Māori), `de`, `fr`, `pt`.
        public var language: String
        public var category: RiskCategory
        public var tier: RiskTier
        public var subject: RiskSubject
        /// True when a negation before the match cancels it. False when the pattern has its own negation ("don't want to live").
        public var negatable: Bool
        /// A common exaggeration: humour near the match lowers its tier.
        public var hyperbole: Bool
        /// Also has an ordinary meaning: an everyday word in the same sentence lowers the tier.
        public var ambiguous: Bool
        /// Keeps its tier when it is in the past: sexual violence, violence against children.
        public var timeless: Bool
        /// Has no other meaning ("I want to kill myself"): no model lowers it, whatever its tier.
        public var certain: Bool
        var patterns: [WordPattern]
        /// Patterns of the same danger that are also found in harmless sentences: of tier 2 at most, so that the encoder may lower them.
        var unclear: [WordPattern]
    }

    /// Harmless patterns that contain words of danger. An idiom cancels the matches that it covers completely.
    public struct Idiom: Sendable, Equatable {
        public var id: String
        public var language: String
        /// Names a thing whose name has a word of danger ("glue gun", "goodbye letter to my team"): cancels every match that it overlaps.
        public var isThing: Bool
        var patterns: [WordPattern]
    }

    /// Patterns that count only while the stored safety level is 1 or more, or after a question of the coach: "tonight", "I have them here".
    public struct FollowUp: Sendable, Equatable {
        public enum Answer: String, Sendable, CaseIterable {
            case yes
            /// "sometimes"
            case somewhat
            case no
            /// "I don't know", "not safe"
            case unsure
            /// "tonight"
            case when
        }

        public var id: String
        public var language: String
        public var category: RiskCategory
        /// The message's minimum tier while the stored level is 1.
        public var tierAtConcern: RiskTier
        /// The message's minimum tier while the stored level is 2 or 3.
        public var tierAtCrisis: RiskTier
        /// The short answer that it is, which counts by the coach's question (`CoachQuestion.counts`); nil: it counts at every level above 0.
        public var answer: Answer?
        var patterns: [WordPattern]
    }

    /// Version of the file; its editors increment it.
    public var version: Int
    /// Phrases of each word class, endings expanded.
    var classes: [String: [String]]
    /// Phrases of each marker, endings expanded.
    var markers: [Marker: [String]]
    /// Words also matched with one spelling mistake; see `LexiconBuilder.correct`.
    var corrected: [String]
    /// Words of each concept, for the classifiers; see `ConceptLexicon`.
    var concepts: [String: [String]]
    public var entries: [Entry]
    public var idioms: [Idiom]
    public var followUps: [FollowUp]
}
