/// The words around a pattern that change what it means: negation, time, fiction, work, laughter, and who is spoken of.
struct Surroundings {
    /// Which words deny something: gaps of patterns must not run over them.
    private(set) var denies: [Bool]
    private let reading: Reading
    private var clauses: [Int]
    /// By the marker's raw value.
    private var spansOfMarker = Array(repeating: [Range<Int>](), count: CrisisGrammar.Marker.allCases.count)
    /// Words that say nothing by themselves: "I", "want to", "tonight".
    private var isFrame: [Bool]
    /// Thoughts and intentions: "plans to". A negation reaches across them too.
    private var isIntention: [Bool]
    /// How many words before each position say something.
    private var meaningful: [Int] = [0]

    /// Farthest distance, in words that say nothing by themselves, at which a negation reaches a pattern that follows it in its clause.
    private static let reachOfNegation = 6
    /// Added to the number of a clause that a conjunction begins.
    private static let conjunction = 1 << 20
    /// A whole statement is denied from right in front of it: "I don't think (that) I want to die".
    private static let reachOfDenial = 1

    init(reading: Reading, markers: SymbolTable<CrisisGrammar.Marker>) {
        self.reading = reading
        denies = Array(repeating: false, count: reading.tokens.count)
        clauses = reading.tokens.map(\.clause)
        isFrame = denies
        isIntention = denies
        for position in reading.tokens.indices {
            for span in reading.spans(at: position) {
                guard let marker = markers[span.symbol] else { continue }
                let range = position..<position + Int(span.length)
                switch marker {
                case .filler, .frame: for word in range { isFrame[word] = true }
                case .intention: for word in range { isIntention[word] = true }
                default: spansOfMarker[marker.rawValue].append(range)
                }
            }
        }
        for span in self[.negator] { for position in span { denies[position] = true } }
        for span in self[.notNegator] { for position in span { denies[position] = false } }
        splitClauses()
        countMeaningful()
    }

    private subscript(_ marker: CrisisGrammar.Marker) -> [Range<Int>] { spansOfMarker[marker.rawValue] }

    /// Punctuation has split clauses already; conjunctions do it here.
    private mutating func splitClauses() {
        for span in self[.clauseBreak] {
            let old = clauses[span.lowerBound]
            for position in span.lowerBound..<clauses.count {
                guard clauses[position] == old else { break }
                clauses[position] += Surroundings.conjunction
            }
        }
    }

    /// People count as frame here: an idiom may be said of anybody.
    private mutating func countMeaningful() {
        var says = isFrame.map { !$0 }
        for span in self[.firstPerson] + self[.thirdPerson] { for position in span { says[position] = false } }
        meaningful.reserveCapacity(says.count + 1)
        for position in says.indices { meaningful.append(meaningful[position] + (says[position] ? 1 : 0)) }
    }

    /// Lowers or cancels a hit. What is in progress stands whatever surrounds it (facts §5.1: suppressors cancel only for tier < 4), except
    /// inside an idiom as a whole: "take all my pills in the morning".
    func weigh(_ hit: inout CrisisDetector.Hit, idioms: [CrisisDetector.HarmlessPhrase]) {
        hit.subject = subject(of: hit)
        if idioms.contains(where: { $0.range.overlaps(hit.range) && ($0.isThing || covers($0.range, hit.range)) }) {
            hit.tier = .none
            return
        }
        if hit.tier == .imminent, !hit.entry.ambiguous { return }
        if isDenied(hit) || isWork(hit) {
            hit.tier = .none
            return
        }
        if isLongAgo(hit) || (hit.entry.ambiguous && isEveryday(hit)) { hit.tier = min(hit.tier, .concern) }
        // Who laughs at a plan may still have it.
        if hit.entry.hyperbole && isExaggeration(hit) { hit.tier = min(hit.tier, hit.tier >= .high ? .crisis : .concern) }
        if isFiction(hit) { hit.tier = RiskTier(rawValue: hit.tier.rawValue - 1) ?? .none }
    }

    /// An idiom means the hit when what it leaves over of it says nothing by itself: "I'm … tonight" around "kill it at the pitch". One
    /// that merely touches the hit means something else beside it.
    private func covers(_ idiom: Range<Int>, _ hit: Range<Int>) -> Bool {
        let before = hit.lowerBound..<max(hit.lowerBound, idiom.lowerBound)
        let after = min(hit.upperBound, idiom.upperBound)..<hit.upperBound
        return meaningful[before.lowerBound] == meaningful[before.upperBound]
            && meaningful[after.lowerBound] == meaningful[after.upperBound]
    }

    /// Whom a hit concerns. A pattern that names nobody concerns the nearest person named before its end in the
    /// clause; where nobody is named it stays unclear, which is treated like the speaker's own. Who is named in abuse did it.
    private func subject(of hit: CrisisDetector.Hit) -> RiskSubject {
        guard hit.entry.subject == .me else { return hit.entry.subject }
        if hit.entry.category == .abuse { return .me }
        if self[.firstPerson].contains(where: { hit.range.contains($0.lowerBound) }) { return .me }
        let clause = clauses[hit.range.lowerBound]
        let people =
            self[.firstPerson].map { ($0.lowerBound, RiskSubject.me) } + self[.thirdPerson].map { ($0.lowerBound, RiskSubject.other) }
        let nearest = people.filter { $0.0 < hit.range.upperBound && clauses[$0.0] == clause }.max { $0.0 < $1.0 }
        return nearest?.1 ?? .unclear
    }

    private func isDenied(_ hit: CrisisDetector.Hit) -> Bool {
        guard hit.entry.negatable, self[.retraction].allSatisfy({ $0.lowerBound < hit.range.lowerBound }) else { return false }
        let start = hit.range.lowerBound
        let clause = clauses[start]
        for span in self[.deniedStatement] where span.upperBound <= start && start - span.upperBound <= Surroundings.reachOfDenial {
            if clauses[span.lowerBound] == clause { return true }
        }
        // "I want to die" begins a statement of its own: "I don't eat I want to die" denies the eating only. A verb that carries its
        // person is denied from right in front of it: "no soy suicida". Nothing is denied across another word that says something:
        // "I can't sleep want to die".
        let begins = self[.firstPerson].contains { $0.lowerBound == start }
        let reach = begins ? 1 : Surroundings.reachOfNegation
        var position = start - 1
        while position >= 0, start - position <= reach, clauses[position] == clause {
            if denies[position] { return true }
            guard isFrame[position] || isIntention[position] else { return false }
            position -= 1
        }
        return false
    }

    /// "Years ago", said of the hit, and nothing that says it has come back: in the same clause, or beyond a comma from a hit that is told in
    /// the past. What the speaker wants now is not over: "I'm in college and I want to die".
    private func isLongAgo(_ hit: CrisisDetector.Hit) -> Bool {
        guard !hit.entry.timeless, self[.present].isEmpty, !self[.resolvedPast].isEmpty else { return false }
        let sentence = reading.tokens[hit.range.lowerBound].sentence
        let clause = clauses[hit.range.lowerBound]
        func inClause(_ span: Range<Int>) -> Bool { clauses[span.lowerBound] == clause }
        if self[.wish].contains(where: inClause) { return false }
        let isPast = clause < Surroundings.conjunction && self[.past].contains(where: inClause)
        return self[.resolvedPast].contains { inClause($0) || (isPast && reading.tokens[$0.lowerBound].sentence == sentence) }
    }

    /// A professional context in the same sentence, for what concerns neither the speaker nor a certain person: who asks for his
    /// daughter is no student of the matter.
    private func isWork(_ hit: CrisisDetector.Hit) -> Bool {
        guard hit.subject != .me, !(hit.subject == .other && namesSomebody(hit)) else { return false }
        let sentence = reading.tokens[hit.range.lowerBound].sentence
        return self[.professional].contains { reading.tokens[$0.lowerBound].sentence == sentence }
    }

    /// "My friend", "she"; not "a client", "someone".
    private func namesSomebody(_ hit: CrisisDetector.Hit) -> Bool {
        self[.certainPerson].contains { hit.range.overlaps($0) }
    }

    /// Laughter in the message or a trifle in the sentence or beside it, and nothing that says it is meant.
    private func isExaggeration(_ hit: CrisisDetector.Hit) -> Bool {
        guard self[.earnest].isEmpty else { return false }
        let sentence = reading.tokens[hit.range.lowerBound].sentence
        return !self[.humour].isEmpty || self[.trivial].contains { abs(reading.tokens[$0.lowerBound].sentence - sentence) <= 1 }
    }

    private func isEveryday(_ hit: CrisisDetector.Hit) -> Bool {
        let sentence = reading.tokens[hit.range.lowerBound].sentence
        return self[.everyday].contains { reading.tokens[$0.lowerBound].sentence == sentence }
    }

    /// Fiction in the same sentence. What the speaker says of himself is fiction only where it is announced as such in the same clause:
    /// "in my novel I'm going to kill myself", not "I wrote a poem because I want to die".
    private func isFiction(_ hit: CrisisDetector.Hit) -> Bool {
        guard self[.creativeDenied].isEmpty else { return false }
        let start = hit.range.lowerBound
        let sentence = reading.tokens[start].sentence
        return self[.creative].contains { span in
            guard reading.tokens[span.lowerBound].sentence == sentence else { return false }
            return hit.subject != .me || clauses[span.lowerBound] == clauses[start]
        }
    }
}
