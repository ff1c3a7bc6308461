/// Finds word patterns in a message by backtracking over lexicon symbols. Patterns are indexed by the symbols of their first element.
struct PatternMatcher: Sendable {
    /// One occurrence of a pattern.
    struct Match {
        /// The `rule` passed to `add`.
        var rule: Int
        /// Token indices.
        var range: Range<Int>
    }

    // Steps and patterns refer to flat arrays by range: copying one during matching copies no array.
    private struct Step: Sendable {
        /// Its alternatives, as indices of `symbols`.
        var symbols: Range<Int>
        var optional: Bool
        var gap: ClosedRange<Int>
        var crossesSentences: Bool
    }

    private struct Pattern: Sendable {
        var rule: Int
        /// Indices of `steps`.
        var steps: Range<Int>
        var startsSentence: Bool
        var endsSentence: Bool
        /// True when gaps may contain negated words.
        var ignoresNegation: Bool
    }

    private var symbols: [Symbol] = []
    private var steps: [Step] = []
    private var patterns: [Pattern] = []
    private var starting = SymbolTable<[Int]>()
    private let filler: Symbol

    /// `filler` is the symbol of words that are allowed between any two elements.
    init(filler: Symbol) { self.filler = filler }

    /// Adds a pattern. `rule` identifies it in matches; `resolve` returns the symbol of an alternative.
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

    /// The first match of each pattern at each token. Gaps do not contain tokens for which `isNegated` is true.
    func matches(in message: AnnotatedTokens, isNegated: [Bool]) -> [Match] {
        var found: [Match] = []
        let search = Search(message: message, isNegated: isNegated, filler: filler, symbols: symbols, steps: steps)
        for start in message.tokens.indices {
            for span in message.spans(at: start) {
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

    /// Matches the steps after the first. Recursion depth is the number of steps, width the sum of gaps; `WordPattern` bounds the gaps.
    private struct Search {
        let message: AnnotatedTokens
        let isNegated: [Bool]
        let symbols: [Symbol]
        let steps: [Step]
        /// For each token the token range of its sentence.
        private var sentences: [Range<Int>] = []
        private var isFiller: [Bool]

        init(message: AnnotatedTokens, isNegated: [Bool], filler: Symbol, symbols: [Symbol], steps: [Step]) {
            self.message = message
            self.isNegated = isNegated
            self.symbols = symbols
            self.steps = steps
            isFiller = message.tokens.indices.map { position in
                message.spans(at: position).contains { $0.symbol == filler }
            }
            sentences.reserveCapacity(message.tokens.count)
            var start = 0
            for position in message.tokens.indices {
                let next = position + 1
                guard next == message.tokens.count || message.tokens[next].sentence != message.tokens[position].sentence else { continue }
                sentences.append(contentsOf: repeatElement(start..<next, count: next - start))
                start = next
            }
        }

        /// True when only fillers precede the position in its sentence: "just goodbye everyone".
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
            let end = step.crossesSentences ? message.tokens.count : sentences[position - 1].upperBound
            var skipped = 0
            var here = position
            while here < end {
                if skipped >= step.gap.lowerBound {
                    for span in message.spans(at: here) where allows(span.symbol, step) {
                        if let found = match(pattern, step: index + 1, at: here + Int(span.length)) { return found }
                    }
                }
                if isFiller[here] {
                    here += 1
                    continue
                }
                guard skipped < step.gap.upperBound, pattern.ignoresNegation || !isNegated[here] else { break }
                skipped += 1
                here += 1
            }
            return step.optional ? match(pattern, step: index + 1, at: position) : nil
        }
    }
}
