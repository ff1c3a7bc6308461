/// Matches the patterns of a `CrisisGrammar` against a message and returns its risk. Deterministic and in memory. The result is a
/// signal, never a clinical score.
///
/// `MessageAssessor` is the public entry: it tokenises a message once for crisis detection and domain scoring.
struct CrisisDetector: Sendable {
    private enum Rule: Sendable {
        case entry(CrisisGrammar.Entry)
        case idiom(CrisisGrammar.Idiom)
        case followUp(CrisisGrammar.FollowUp)
    }

    private let matcher: PatternMatcher
    private let rules: [Rule]
    private let markers: SymbolTable<CrisisGrammar.Marker>
    /// The ids of the certain entries.
    private let certain: Set<String>

    /// Compiles the patterns and adds their words to the lexicon, which other components share.
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

        var matcher = PatternMatcher(filler: filler)
        var rules: [Rule] = []
        func add(_ rule: Rule, _ patterns: [WordPattern], ignoresNegation: Bool) {
            rules.append(rule)
            for pattern in patterns {
                matcher.add(pattern, rule: rules.count - 1, ignoresNegation: ignoresNegation) { alternative in
                    if let known = symbols[alternative] { return known }
                    let symbol = lexicon.makeSymbol()
                    symbols[alternative] = symbol
                    if case .phrase(let phrase) = alternative { lexicon.add(phrase, as: symbol) }
                    return symbol
                }
            }
        }
        for entry in grammar.entries {
            add(.entry(entry), entry.patterns, ignoresNegation: !entry.negatable)
            var unclear = entry
            unclear.tier = min(entry.tier, .crisis)
            add(.entry(unclear), entry.unclear, ignoresNegation: !entry.negatable)
        }
        for idiom in grammar.idioms { add(.idiom(idiom), idiom.patterns, ignoresNegation: true) }
        for followUp in grammar.followUps { add(.followUp(followUp), followUp.patterns, ignoresNegation: true) }
        self.matcher = matcher
        self.rules = rules
        self.markers = markers
        certain = Set(grammar.entries.lazy.filter(\.certain).map(\.id))
    }

    /// Assesses one form of a message (plain or deobfuscated). `patterns` of the result includes the ids of all matched follow-ups;
    /// `SafetyFusion` removes those that do not apply at the stored level.
    func assess(_ message: AnnotatedTokens) -> RiskAssessment {
        let context = ContextModifiers(message: message, markers: markers)
        var idioms: [IdiomMatch] = []
        var entries: [EntryMatch] = []
        var followUps: [String] = []
        for match in matcher.matches(in: message, isNegated: context.isNegated) {
            switch rules[match.rule] {
            case .idiom(let idiom): idioms.append(IdiomMatch(range: match.range, isThing: idiom.isThing))
            case .followUp(let followUp): if !followUps.contains(followUp.id) { followUps.append(followUp.id) }
            case .entry(let entry): entries.append(EntryMatch(entry: entry, range: match.range))
            }
        }
        for index in entries.indices { context.modify(&entries[index], idioms: idioms) }
        return CrisisDetector.summary(of: entries.filter { $0.tier > .none }, followUps: followUps)
    }

    /// True when a model may not lower what `assess` found: a hit at tier 3 and above, or of a certain entry.
    func isFinal(_ found: RiskAssessment) -> Bool { found.tier >= .high || found.patterns.contains(where: certain.contains) }

    func markers(in message: AnnotatedTokens) -> Set<CrisisGrammar.Marker> {
        message.withSpans { spans in Set(spans.compactMap { markers[$0.symbol] }) }
    }

    /// Combines matches into one assessment: the highest tier; `.user` as subject when any match concerns the user, else `.other`.
    private static func summary(of matches: [EntryMatch], followUps: [String]) -> RiskAssessment {
        let byTier = matches.sorted { ($0.tier, $1.range.lowerBound) > ($1.tier, $0.range.lowerBound) }
        var result = RiskAssessment.calm
        result.tier = byTier.first?.tier ?? .none
        for match in byTier {
            if !result.categories.contains(match.entry.category) { result.categories.append(match.entry.category) }
            if !result.patterns.contains(match.entry.id) { result.patterns.append(match.entry.id) }
        }
        let subjects = Set(byTier.map(\.subject))
        result.subject = subjects.contains(.user) ? .user : subjects.contains(.other) ? .other : .unclear
        result.patterns += followUps
        return result
    }
}

extension CrisisDetector {
    /// A harmless idiom found in a message.
    struct IdiomMatch {
        /// Token indices.
        let range: Range<Int>
        let isThing: Bool
    }

    /// A grammar entry found in a message. Starts with the entry's tier and subject; `ContextModifiers` changes them.
    struct EntryMatch {
        let entry: CrisisGrammar.Entry
        /// Token indices.
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
