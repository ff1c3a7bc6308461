/// Changes the tier and subject of matches by the words around them: negation, time, fiction, professional context, humour and the
/// person named. The same approach as the NegEx and ConText algorithms for clinical text.
struct ContextModifiers {
    /// True for each token that is part of a negation. Pattern gaps must not cross these.
    private(set) var isNegated: [Bool]
    private let message: AnnotatedTokens
    private var clauses: [Int]
    /// Token ranges of each marker, indexed by its raw value.
    private var spansOfMarker = Array(repeating: [Range<Int>](), count: CrisisGrammar.Marker.allCases.count)
    /// Function words and phrases: "I", "want to", "tonight".
    private var isFrame: [Bool]
    /// Thoughts and intentions: "plans to". The scope of a negation extends across them.
    private var isIntention: [Bool]
    /// Prefix counts of content words: element `i` counts those before token `i`.
    private var contentWords: [Int] = [0]

    /// Maximum distance, in frame or intention words, between a negation and a pattern that follows it in its clause.
    private static let negationScope = 6
    /// Added to the clause number of the words after a conjunction.
    private static let conjunction = 1 << 20
    /// Maximum distance between a denied-statement phrase and its pattern: "I don't think (that) I want to die".
    private static let deniedStatementScope = 1

    init(message: AnnotatedTokens, markers: SymbolTable<CrisisGrammar.Marker>) {
        self.message = message
        isNegated = Array(repeating: false, count: message.tokens.count)
        clauses = message.tokens.map(\.clause)
        isFrame = isNegated
        isIntention = isNegated
        for position in message.tokens.indices {
            for span in message.spans(at: position) {
                guard let marker = markers[span.symbol] else { continue }
                let range = position..<position + Int(span.length)
                switch marker {
                case .filler, .frame: for word in range { isFrame[word] = true }
                case .intention: for word in range { isIntention[word] = true }
                default: spansOfMarker[marker.rawValue].append(range)
                }
            }
        }
        for span in self[.negator] { for position in span { isNegated[position] = true } }
        for span in self[.notNegator] { for position in span { isNegated[position] = false } }
        splitClauses()
        countContentWords()
    }

    private subscript(_ marker: CrisisGrammar.Marker) -> [Range<Int>] { spansOfMarker[marker.rawValue] }

    /// `TokenSequence` splits clauses at punctuation; this splits them at conjunctions.
    private mutating func splitClauses() {
        for span in self[.clauseBreak] {
            let old = clauses[span.lowerBound]
            for position in span.lowerBound..<clauses.count {
                guard clauses[position] == old else { break }
                clauses[position] += ContextModifiers.conjunction
            }
        }
    }

    /// Words that name a person do not count as content: an idiom may be about any person.
    private mutating func countContentWords() {
        var isContent = isFrame.map { !$0 }
        for span in self[.firstPerson] + self[.thirdPerson] { for position in span { isContent[position] = false } }
        contentWords.reserveCapacity(isContent.count + 1)
        for position in isContent.indices { contentWords.append(contentWords[position] + (isContent[position] ? 1 : 0)) }
    }

    /// Sets the subject and lowers the tier; `.none` cancels the match. An idiom cancels at every tier ("take all my pills in the
    /// morning"). At tier 4 a time long ago lowers to a crisis, which the encoder may lower further; the other modifiers do not apply, unless the
    /// entry is ambiguous.
    func modify(_ match: inout CrisisDetector.EntryMatch, idioms: [CrisisDetector.IdiomMatch]) {
        match.subject = subject(of: match)
        if idioms.contains(where: { $0.range.overlaps(match.range) && ($0.isThing || covers($0.range, match.range)) }) {
            match.tier = .none
            return
        }
        if match.tier == .imminent, !match.entry.ambiguous {
            if isResolvedPast(match) { match.tier = .crisis }
            return
        }
        if isDenied(match) || isProfessional(match) {
            match.tier = .none
            return
        }
        if isResolvedPast(match) || (match.entry.ambiguous && isEveryday(match)) { match.tier = min(match.tier, .concern) }
        // A joke about a plan may hide a real plan: tiers 3 and 4 stay at crisis.
        if match.entry.hyperbole && isExaggeration(match) { match.tier = min(match.tier, match.tier >= .high ? .crisis : .concern) }
        if isFiction(match) { match.tier = RiskTier(rawValue: match.tier.rawValue - 1) ?? .none }
    }

    /// True when the part of the match outside the idiom has no content word: "I'm … tonight" around "kill it at the pitch". An idiom that
    /// only overlaps the match does not cover it.
    private func covers(_ idiom: Range<Int>, _ match: Range<Int>) -> Bool {
        let before = match.lowerBound..<max(match.lowerBound, idiom.lowerBound)
        let after = min(match.upperBound, idiom.upperBound)..<match.upperBound
        return contentWords[before.lowerBound] == contentWords[before.upperBound]
            && contentWords[after.lowerBound] == contentWords[after.upperBound]
    }

    /// The person in danger. An entry about the user whose words name no person takes the nearest person named before its end in the
    /// clause. Without one the subject is unclear, which callers treat as the user. In abuse the person named is the perpetrator.
    private func subject(of match: CrisisDetector.EntryMatch) -> RiskSubject {
        guard match.entry.subject == .user else { return match.entry.subject }
        if match.entry.category == .abuse { return .user }
        if self[.firstPerson].contains(where: { match.range.contains($0.lowerBound) }) { return .user }
        let clause = clauses[match.range.lowerBound]
        let people =
            self[.firstPerson].map { ($0.lowerBound, RiskSubject.user) } + self[.thirdPerson].map { ($0.lowerBound, RiskSubject.other) }
        let nearest = people.filter { $0.0 < match.range.upperBound && clauses[$0.0] == clause }.max { $0.0 < $1.0 }
        return nearest?.1 ?? .unclear
    }

    /// True when a negation covers the match. A retraction after the match ("I lied") cancels the negation.
    private func isDenied(_ match: CrisisDetector.EntryMatch) -> Bool {
        guard match.entry.negatable, self[.retraction].allSatisfy({ $0.lowerBound < match.range.lowerBound }) else { return false }
        let start = match.range.lowerBound
        let clause = clauses[start]
        for span in self[.deniedStatement]
        where span.upperBound <= start && start - span.upperBound <= ContextModifiers.deniedStatementScope {
            if clauses[span.lowerBound] == clause { return true }
        }
        // A match that begins with the first person is a statement of its own; only the word directly before it negates it: "I don't eat
        // I want to die" negates the eating, "no soy suicida" the match. A content word ends the scope: "I can't sleep want to die".
        let begins = self[.firstPerson].contains { $0.lowerBound == start }
        let scope = begins ? 1 : ContextModifiers.negationScope
        var position = start - 1
        while position >= 0, start - position <= scope, clauses[position] == clause {
            if isNegated[position] { return true }
            guard isFrame[position] || isIntention[position] else { return false }
            position -= 1
        }
        return false
    }

    /// True for danger that is over ("years ago"): the phrase is in the clause of the match, or in its sentence when the match is in the
    /// past tense. False when the message has a word for the present ("again") or the clause has a present wish: "I'm in college and I
    /// want to die".
    private func isResolvedPast(_ match: CrisisDetector.EntryMatch) -> Bool {
        guard !match.entry.timeless, self[.present].isEmpty, !self[.resolvedPast].isEmpty else { return false }
        let sentence = message.tokens[match.range.lowerBound].sentence
        let clause = clauses[match.range.lowerBound]
        func inClause(_ span: Range<Int>) -> Bool { clauses[span.lowerBound] == clause }
        if self[.wish].contains(where: inClause) { return false }
        let isPast = clause < ContextModifiers.conjunction && self[.past].contains(where: inClause)
        return self[.resolvedPast].contains { inClause($0) || (isPast && message.tokens[$0.lowerBound].sentence == sentence) }
    }

    /// True for a professional context in the sentence, when the match concerns neither the user nor a person they know. A parent who
    /// asks for their daughter is not asking about the topic in general.
    private func isProfessional(_ match: CrisisDetector.EntryMatch) -> Bool {
        guard match.subject != .user, !(match.subject == .other && namesKnownPerson(match)) else { return false }
        let sentence = message.tokens[match.range.lowerBound].sentence
        return self[.professional].contains { message.tokens[$0.lowerBound].sentence == sentence }
    }

    /// True for "my friend" and "she", false for "a client" and "someone".
    private func namesKnownPerson(_ match: CrisisDetector.EntryMatch) -> Bool {
        self[.certainPerson].contains { match.range.overlaps($0) }
    }

    /// True for laughter in the message, or a trivial annoyance in the same or an adjacent sentence, unless the message is meant seriously.
    private func isExaggeration(_ match: CrisisDetector.EntryMatch) -> Bool {
        guard self[.earnest].isEmpty else { return false }
        let sentence = message.tokens[match.range.lowerBound].sentence
        return !self[.humour].isEmpty || self[.trivial].contains { abs(message.tokens[$0.lowerBound].sentence - sentence) <= 1 }
    }

    private func isEveryday(_ match: CrisisDetector.EntryMatch) -> Bool {
        let sentence = message.tokens[match.range.lowerBound].sentence
        return self[.everyday].contains { message.tokens[$0.lowerBound].sentence == sentence }
    }

    /// True for fiction in the sentence. For the user's own danger the fiction must be in the same clause: "in my novel I'm going to kill
    /// myself", not "I wrote a poem because I want to die".
    private func isFiction(_ match: CrisisDetector.EntryMatch) -> Bool {
        guard self[.creativeDenied].isEmpty else { return false }
        let start = match.range.lowerBound
        let sentence = message.tokens[start].sentence
        return self[.creative].contains { span in
            guard message.tokens[span.lowerBound].sentence == sentence else { return false }
            return match.subject != .user || clauses[span.lowerBound] == clauses[start]
        }
    }
}
