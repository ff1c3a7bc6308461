/// All patterns of a grammar compiled over the symbols of a lexicon, indexed by what each can start with.
struct PatternAutomaton: Sendable {
    /// Where a pattern was found.
    struct Match {
        /// Index of the rule that the pattern belongs to.
        var rule: Int
        /// Words.
        var range: Range<Int>
    }

    /// All storage is flat and trivial: matching copies no arrays.
    private struct Step: Sendable {
        /// Where its alternatives lie in `symbols`.
        var symbols: Range<Int>
        var optional: Bool
        var gap: ClosedRange<Int>
        var crossesSentences: Bool
    }

    private struct Pattern: Sendable {
        var rule: Int
        /// Where its steps lie in `steps`.
        var steps: Range<Int>
        var startsSentence: Bool
        var endsSentence: Bool
        /// A gap of this pattern may run over a negation.
        var ignoresNegation: Bool
    }

    private var symbols: [Symbol] = []
    private var steps: [Step] = []
    private var patterns: [Pattern] = []
    private var starting = SymbolTable<[Int]>()
    private let filler: Symbol

    /// `filler` is the symbol of the words that may stand between any two elements.
    init(filler: Symbol) { self.filler = filler }

    /// Adds a pattern of a rule; `resolve` gives the symbol of an alternative.
    mutating func add(
        _ pattern: WordPattern, rule: Int, ignoresNegation: Bool, resolve: (WordPattern.Alternative) -> Symbol
    ) {
        let firstStep = steps.count
        for element in pattern.elements {
            let start = symbols.count
            symbols += element.alternatives.map(resolve)
            steps.append(
                Step(
                    symbols: start..<symbols.count, optional: element.optional, gap: element.gap,
                    crossesSentences: element.crossesSentences))
        }
        guard firstStep < steps.count else { return }
        patterns.append(
            Pattern(
                rule: rule, steps: firstStep..<steps.count, startsSentence: pattern.startsSentence, endsSentence: pattern.endsSentence,
                ignoresNegation: ignoresNegation))
        for symbol in Set(symbols[steps[firstStep].symbols]) {
            starting[symbol] = (starting[symbol] ?? []) + [patterns.count - 1]
        }
    }

    /// Every pattern at every word where it matches, each with its first match there. `barrier` says which words a gap must not run
    /// over: negations.
    func matches(in reading: Reading, barrier: [Bool]) -> [Match] {
        var found: [Match] = []
        let search = Search(reading: reading, barrier: barrier, filler: filler, symbols: symbols, steps: steps)
        for start in reading.tokens.indices {
            for span in reading.spans(at: start) {
                guard let candidates = starting[span.symbol] else { continue }
                for index in candidates {
                    let pattern = patterns[index]
                    if pattern.startsSentence, !search.sentenceStarts(at: start) { continue }
                    guard let end = search.match(pattern, step: pattern.steps.lowerBound + 1, at: start + Int(span.length)) else {
                        continue
                    }
                    found.append(Match(rule: pattern.rule, range: start..<end))
                }
            }
        }
        return found
    }

    /// Looks for the rest of one pattern. Depth is the pattern's length and width the sum of its gaps, both bounded when it is read.
    private struct Search {
        let reading: Reading
        let barrier: [Bool]
        let symbols: [Symbol]
        let steps: [Step]
        /// First and last-but-one word of the sentence of each word.
        private var sentences: [Range<Int>] = []
        private var isFiller: [Bool]

        init(reading: Reading, barrier: [Bool], filler: Symbol, symbols: [Symbol], steps: [Step]) {
            self.reading = reading
            self.barrier = barrier
            self.symbols = symbols
            self.steps = steps
            isFiller = reading.tokens.indices.map { position in
                reading.spans(at: position).contains { $0.symbol == filler }
            }
            sentences.reserveCapacity(reading.tokens.count)
            var start = 0
            for position in reading.tokens.indices {
                let next = position + 1
                guard next == reading.tokens.count || reading.tokens[next].sentence != reading.tokens[position].sentence else { continue }
                sentences.append(contentsOf: repeatElement(start..<next, count: next - start))
                start = next
            }
        }

        /// Fillers at the start of a sentence do not count: "just goodbye everyone".
        func sentenceStarts(at position: Int) -> Bool { isFiller[sentences[position].lowerBound..<position].allSatisfy(\.self) }

        private func sentenceEnds(after position: Int, before end: Int) -> Bool {
            isFiller[end..<max(end, sentences[position].upperBound)].allSatisfy(\.self)
        }

        private func allows(_ symbol: Symbol, _ step: Step) -> Bool {
            for index in step.symbols where symbols[index] == symbol { return true }
            return false
        }

        func match(_ pattern: Pattern, step index: Int, at position: Int) -> Int? {
            guard index < pattern.steps.upperBound else {
                return !pattern.endsSentence || sentenceEnds(after: position - 1, before: position) ? position : nil
            }
            let step = steps[index]
            let end = step.crossesSentences ? reading.tokens.count : sentences[position - 1].upperBound
            var skipped = 0
            var here = position
            while here < end {
                if skipped >= step.gap.lowerBound {
                    for span in reading.spans(at: here) where allows(span.symbol, step) {
                        if let found = match(pattern, step: index + 1, at: here + Int(span.length)) { return found }
                    }
                }
                if isFiller[here] {
                    here += 1
                    continue
                }
                guard skipped < step.gap.upperBound, pattern.ignoresNegation || !barrier[here] else { break }
                skipped += 1
                here += 1
            }
            return step.optional ? match(pattern, step: index + 1, at: position) : nil
        }
    }
}
