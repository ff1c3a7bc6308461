/// Recognises danger in a message by the patterns of a `CrisisGrammar`. Deterministic, in memory, without a network; it gives signals,
/// never a clinical score.
///
/// Built once; a message costs one walk over its words (see `MessageReader`).
public struct CrisisDetector: Sendable {
    enum Rule: Sendable {
        case entry(CrisisGrammar.Entry)
        case idiom(CrisisGrammar.Idiom)
        case followUp(CrisisGrammar.FollowUp)
    }

    private let automaton: PatternAutomaton
    private let rules: [Rule]
    private let markers: SymbolTable<CrisisGrammar.Marker>

    /// Compiles a grammar into a lexicon that it may share with others.
    init(grammar: CrisisGrammar, lexicon: inout LexiconBuilder) {
        var symbols: [WordPattern.Alternative: Symbol] = [:]
        for (name, phrases) in grammar.classes.sorted(by: { $0.key < $1.key }) {
            let symbol = lexicon.makeSymbol()
            symbols[.wordClass(name)] = symbol
            for phrase in phrases { lexicon.add(phrase, as: symbol) }
        }
        var markers = SymbolTable<CrisisGrammar.Marker>()
        var filler = lexicon.makeSymbol()
        for marker in CrisisGrammar.Marker.allCases {
            let symbol = lexicon.makeSymbol()
            if marker == .filler { filler = symbol }
            markers[symbol] = marker
            for phrase in grammar.markers[marker] ?? [] { lexicon.add(phrase, as: symbol) }
        }
        for word in grammar.corrected { lexicon.correct(word) }

        var automaton = PatternAutomaton(filler: filler)
        var rules: [Rule] = []
        func add(_ rule: Rule, _ patterns: [WordPattern], ignoresNegation: Bool) {
            rules.append(rule)
            for pattern in patterns {
                automaton.add(pattern, rule: rules.count - 1, ignoresNegation: ignoresNegation) { alternative in
                    if let known = symbols[alternative] { return known }
                    let symbol = lexicon.makeSymbol()
                    symbols[alternative] = symbol
                    if case .phrase(let phrase) = alternative { lexicon.add(phrase, as: symbol) }
                    return symbol
                }
            }
        }
        for entry in grammar.entries { add(.entry(entry), entry.patterns, ignoresNegation: !entry.negatable) }
        for idiom in grammar.idioms { add(.idiom(idiom), idiom.patterns, ignoresNegation: true) }
        for followUp in grammar.followUps { add(.followUp(followUp), followUp.patterns, ignoresNegation: true) }
        self.automaton = automaton
        self.rules = rules
        self.markers = markers
    }

    /// What one view of a message says about danger, with the ids of follow-ups that `SafetyFusion` may use.
    func assess(_ reading: Reading) -> RiskAssessment {
        let surroundings = Surroundings(reading: reading, markers: markers)
        let matches = automaton.matches(in: reading, barrier: surroundings.denies)
        var idioms: [HarmlessPhrase] = []
        var hits: [Hit] = []
        var followUps: [String] = []
        for match in matches {
            switch rules[match.rule] {
            case .idiom(let idiom): idioms.append(HarmlessPhrase(range: match.range, isThing: idiom.isThing))
            case .followUp(let followUp): if !followUps.contains(followUp.id) { followUps.append(followUp.id) }
            case .entry(let entry): hits.append(Hit(entry: entry, range: match.range))
            }
        }
        for index in hits.indices { surroundings.weigh(&hits[index], idioms: idioms) }
        return CrisisDetector.summary(of: hits.filter { $0.tier > .none }, followUps: followUps)
    }

    /// True when a coach's message asks about safety, so that a bare "yes" after it means something.
    func asksAboutSafety(_ reading: Reading) -> Bool {
        reading.tokens.indices.contains { position in
            reading.spans(at: position).contains { markers[$0.symbol] == .safetyQuestion }
        }
    }

    /// One assessment of several hits: the highest tier, and the speaker's own danger before that of others.
    private static func summary(of hits: [Hit], followUps: [String]) -> RiskAssessment {
        let byTier = hits.sorted { ($0.tier, $1.range.lowerBound) > ($1.tier, $0.range.lowerBound) }
        var result = RiskAssessment.calm
        result.tier = byTier.first?.tier ?? .none
        for hit in byTier {
            if !result.categories.contains(hit.entry.category) { result.categories.append(hit.entry.category) }
            if !result.patterns.contains(hit.entry.id) { result.patterns.append(hit.entry.id) }
        }
        let subjects = Set(byTier.map(\.subject))
        result.subject = subjects.contains(.me) ? .me : subjects.contains(.other) ? .other : .unclear
        result.patterns += followUps
        return result
    }
}

extension CrisisDetector {
    /// An idiom found in a message.
    struct HarmlessPhrase {
        /// Words.
        let range: Range<Int>
        let isThing: Bool
    }

    /// A pattern found in a message, and what its surroundings make of it.
    struct Hit {
        let entry: CrisisGrammar.Entry
        /// Words.
        let range: Range<Int>
        var tier: RiskTier
        var subject: RiskSubject

        init(entry: CrisisGrammar.Entry, range: Range<Int>) {
            self.entry = entry
            self.range = range
            tier = entry.tier
            subject = entry.subject
        }
    }
}
