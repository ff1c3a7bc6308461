/// The words around a pattern that change what it means: negation, time, fiction, work, laughter, and who is spoken of.
struct Surroundings {
    /// Which words deny something: gaps of patterns must not run over them.
    private(set) var denies: [Bool]
    private let reading: Reading
    private var clauses: [Int]
    private var spansOfMarker: [CrisisGrammar.Marker: [Range<Int>]] = [:]

    /// Farthest distance, in words, at which a negation reaches a pattern that follows it in the same clause.
    private static let reachOfNegation = 4
    /// A whole statement is denied from right in front of it: "I don't think (that) I want to die".
    private static let reachOfDenial = 1

    init(reading: Reading, markers: SymbolTable<CrisisGrammar.Marker>) {
        self.reading = reading
        denies = Array(repeating: false, count: reading.tokens.count)
        clauses = reading.tokens.map(\.clause)
        for position in reading.tokens.indices {
            for span in reading.spans(at: position) {
                guard let marker = markers[span.symbol], marker != .filler else { continue }
                spansOfMarker[marker, default: []].append(position..<position + Int(span.length))
            }
        }
        for span in self[.negator] { for position in span { denies[position] = true } }
        for span in self[.notNegator] { for position in span { denies[position] = false } }
        splitClauses()
    }

    private subscript(_ marker: CrisisGrammar.Marker) -> [Range<Int>] { spansOfMarker[marker] ?? [] }

    /// Punctuation has split clauses already; conjunctions do it here.
    private mutating func splitClauses() {
        for span in self[.clauseBreak] {
            let old = clauses[span.lowerBound]
            for position in span.lowerBound..<clauses.count {
                guard clauses[position] == old else { break }
                clauses[position] += 1 << 20
            }
        }
    }

    /// Lowers or cancels a hit. What is in progress stands whatever surrounds it (facts §5.1: suppressors cancel only for tier < 4), except
    /// inside an idiom as a whole: "take all my pills in the morning".
    func weigh(_ hit: inout CrisisDetector.Hit, idioms: [Range<Int>]) {
        hit.subject = subject(of: hit)
        if hit.tier == .imminent, !hit.entry.ambiguous {
            if idioms.contains(where: { covers($0, hit.range) }) { hit.tier = .none }
            return
        }
        if idioms.contains(where: { $0.overlaps(hit.range) }) || isDenied(hit) || isWork(hit) {
            hit.tier = .none
            return
        }
        if isLongAgo(hit) || (hit.entry.hyperbole && isExaggeration) || (hit.entry.ambiguous && isEveryday(hit)) {
            hit.tier = min(hit.tier, .concern)
        }
        if isFiction { hit.tier = RiskTier(rawValue: hit.tier.rawValue - 1) ?? .none }
    }

    /// An idiom that begins where the hit does, or before; the hit may begin with its subject ("I took …").
    private func covers(_ idiom: Range<Int>, _ hit: Range<Int>) -> Bool {
        idiom.overlaps(hit) && idiom.lowerBound <= hit.lowerBound + 1
    }

    /// Whom a hit concerns. A pattern that names nobody concerns the nearest person named before its end in the
    /// clause; where nobody is named it stays unclear, which is treated like the speaker's own.
    private func subject(of hit: CrisisDetector.Hit) -> RiskSubject {
        guard hit.entry.subject == .me else { return hit.entry.subject }
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
        // person is denied from right in front of it: "no soy suicida".
        let begins = self[.firstPerson].contains { $0.lowerBound == start }
        let reach = begins ? 1 : Surroundings.reachOfNegation
        var position = start - 1
        while position >= 0, start - position <= reach, clauses[position] == clause {
            if denies[position] { return true }
            position -= 1
        }
        return false
    }

    /// "Years ago" in the same sentence, and nothing that says it has come back.
    private func isLongAgo(_ hit: CrisisDetector.Hit) -> Bool {
        guard !hit.entry.timeless, self[.present].isEmpty else { return false }
        let sentence = reading.tokens[hit.range.lowerBound].sentence
        return self[.resolvedPast].contains { reading.tokens[$0.lowerBound].sentence == sentence }
    }

    /// A professional or technical context, for what does not concern the speaker.
    private func isWork(_ hit: CrisisDetector.Hit) -> Bool {
        let sentence = reading.tokens[hit.range.lowerBound].sentence
        switch hit.subject {
        case .me: break
        case .other: if !self[.professional].isEmpty { return true }
        case .unclear: if self[.professional].contains(where: { reading.tokens[$0.lowerBound].sentence == sentence }) { return true }
        }
        let namesSpeaker = self[.firstPerson].contains { hit.range.contains($0.lowerBound) }
        return !namesSpeaker && hit.tier < .high
            && self[.technical].contains { reading.tokens[$0.lowerBound].sentence == sentence }
    }

    /// Laughter or a trifle in the message, and nothing that says it is meant.
    private var isExaggeration: Bool {
        self[.earnest].isEmpty && !(self[.humour].isEmpty && self[.trivial].isEmpty)
    }

    private func isEveryday(_ hit: CrisisDetector.Hit) -> Bool {
        let sentence = reading.tokens[hit.range.lowerBound].sentence
        return self[.everyday].contains { reading.tokens[$0.lowerBound].sentence == sentence }
    }

    private var isFiction: Bool { !self[.creative].isEmpty && self[.creativeDenied].isEmpty }
}
