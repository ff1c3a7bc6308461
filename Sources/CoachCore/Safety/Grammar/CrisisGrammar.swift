/// What `domains/safety/crisis-grammar.json` says, read and checked: the words and patterns by which danger is recognised.
public struct CrisisGrammar: Sendable, Equatable {
    /// Words that change what a pattern means.
    public enum Marker: Int, Sendable, CaseIterable {
        /// May stand between any two elements: "just", "really".
        case filler
        /// Says nothing by itself: "I", "want to", "tonight". An idiom need not cover it, and a negation reaches across it.
        case frame
        /// A thought or a plan: "thoughts of", "no intention to". A negation reaches across it; an idiom does not.
        case intention
        /// Denies what follows it in its clause: "not", "never", "sin".
        case negator
        /// Holds a negator that denies nothing: "can't stop", "not only".
        case notNegator
        /// Denies a whole statement that follows: "I don't think", "no es que".
        case deniedStatement
        /// Begins a new clause: "but", "because", "pero".
        case clauseBreak
        /// Long ago and over: "years ago", "in recovery".
        case resolvedPast
        /// Told in the past: "was", "tried".
        case past
        /// What the speaker wants or means to do now: "I want", "voy a".
        case wish
        /// Not over: "again", "lately".
        case present
        /// Fiction: "my novel", "song lyrics".
        case creative
        /// Not fiction after all: "fine, not a story".
        case creativeDenied
        /// Work or study: "for my essay", "training managers".
        case professional
        /// Laughter: "lol", the emoji.
        case humour
        /// Small annoyances beside which people exaggerate: "password", "the queue".
        case trivial
        /// Work, study, sport, travel: what most messages are about.
        case everyday
        /// Not in jest after all: "no seriously", "not joking".
        case earnest
        /// Takes a denial back: "I lied".
        case retraction
        /// The speaker.
        case firstPerson
        /// Somebody else.
        case thirdPerson
        /// Somebody whom the speaker knows: "my friend", "she"; not "a client".
        case certainPerson
        /// A question about safety, in the coach's mouth.
        case safetyQuestion

        /// As the grammar's file spells it: `not_negator`.
        var name: String { "\(self)".reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) } }
    }

    /// Patterns that mean danger.
    public struct Entry: Sendable, Equatable {
        public var id: String
        /// `en`, `es` or, for a few phrases, `mi` (te reo Māori), `de`, `fr`.
        public var language: String
        public var category: RiskCategory
        public var tier: RiskTier
        public var subject: RiskSubject
        /// False when the pattern holds its own negation ("don't want to live") or is a confession that nothing before it takes back.
        public var negatable: Bool
        /// People say it in jest; laughter beside it lowers it.
        public var hyperbole: Bool
        /// Means danger only when it is not said of everyday things; a word for them in the same sentence lowers it.
        public var ambiguous: Bool
        /// Counts however long ago it was: sexual violence, what is done to children.
        public var timeless: Bool
        var patterns: [WordPattern]
    }

    /// Patterns that look like danger and are none; they cancel what they cover as a whole.
    public struct Idiom: Sendable, Equatable {
        public var id: String
        public var language: String
        /// Names a thing that shares a word with danger ("glue gun", "goodbye letter to my team"): cancels whatever holds that word.
        public var isThing: Bool
        var patterns: [WordPattern]
    }

    /// Patterns that mean something only after danger was seen in the conversation.
    public struct FollowUp: Sendable, Equatable {
        public var id: String
        public var language: String
        public var category: RiskCategory
        /// What the message is raised to while the stored level is 1.
        public var tierAtConcern: RiskTier
        /// What the message is raised to while the stored level is 2 or 3.
        public var tierAtCrisis: RiskTier
        /// At level 1 it counts only when the coach has just asked about safety.
        public var needsQuestion: Bool
        var patterns: [WordPattern]
    }

    /// Counts changes of the file; goes into audit rows.
    public var version: Int
    /// Phrases of each word class.
    var classes: [String: [String]]
    /// Phrases of each marker.
    var markers: [Marker: [String]]
    /// Words recognised with one spelling mistake.
    var corrected: [String]
    public var entries: [Entry]
    public var idioms: [Idiom]
    public var followUps: [FollowUp]
}
