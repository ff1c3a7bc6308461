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
    /// The highest symbol of a pattern.
    private var largest: Symbol = 0

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
            largest = max(largest, symbols[start...].max() ?? 0)
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
        let present = bits(of: message)
        let words = Search.words(of: message, isNegated: isNegated, filler: filler)
        // Raw buffers: retaining arrays for each of some thousand candidates would cost more than the search.
        words.withUnsafeBufferPointer { words in
            message.withSpans { spans in
                symbols.withUnsafeBufferPointer { symbols in
                    steps.withUnsafeBufferPointer { steps in
                        let search = Search(words: words, spans: spans, symbols: symbols, steps: steps)
                        for start in words.indices {
                            for span in spans[words[start].spans] {
                                append(startingWith: span, at: start, search, present, to: &found)
                            }
                        }
                    }
                }
            }
        }
        return found
    }

    private func append(
        startingWith span: AnnotatedTokens.Span, at start: Int, _ search: Search, _ present: [UInt64], to found: inout [Match]
    ) {
        guard let candidates = starting[span.symbol] else { return }
        for index in candidates {
            let pattern = patterns[index]
            let next = pattern.steps.lowerBound + 1
            if next < pattern.steps.upperBound, !search.steps[next].optional {
                let isPossible = search.symbols[search.steps[next].symbols].contains { present[Int($0) >> 6] & 1 << UInt64($0 & 63) != 0 }
                guard isPossible else { continue }
            }
            if pattern.startsSentence, !search.sentenceStarts(at: start) { continue }
            guard let end = search.match(pattern, step: next, at: start + Int(span.length)) else { continue }
            found.append(Match(rule: pattern.rule, range: start..<end))
        }
    }

    /// One bit for each symbol: whether the message has it. The second element of most candidates is nowhere in it.
    private func bits(of message: AnnotatedTokens) -> [UInt64] {
        var bits = [UInt64](repeating: 0, count: Int(largest >> 6) + 1)
        message.withSpans { spans in
            for span in spans where span.symbol <= largest { bits[Int(span.symbol >> 6)] |= 1 << UInt64(span.symbol & 63) }
        }
        return bits
    }

    /// Matches the steps after the first. Recursion depth is the number of steps, width the sum of gaps; `WordPattern` bounds the gaps.
    private struct Search {
        struct Word {
            /// Indices of the spans that start here.
            var spans: Range<Int>
            /// Tokens of its sentence.
            var sentence: Range<Int>
            var isFiller: Bool
            var isNegated: Bool
        }

        let words: UnsafeBufferPointer<Word>
        let spans: UnsafeBufferPointer<AnnotatedTokens.Span>
        let symbols: UnsafeBufferPointer<Symbol>
        let steps: UnsafeBufferPointer<Step>

        static func words(of message: AnnotatedTokens, isNegated: [Bool], filler: Symbol) -> [Word] {
            var words: [Word] = []
            words.reserveCapacity(message.tokens.count)
            var start = 0
            for position in message.tokens.indices {
                let spans = message.spans(at: position)
                words.append(
                    Word(
                        spans: spans.indices, sentence: start..<start, isFiller: spans.contains { $0.symbol == filler },
                        isNegated: isNegated[position]))
                let next = position + 1
                guard next == message.tokens.count || message.tokens[next].sentence != message.tokens[position].sentence else { continue }
                for index in start..<next { words[index].sentence = start..<next }
                start = next
            }
            return words
        }

        /// True when only fillers precede the position in its sentence: "just goodbye everyone".
        func sentenceStarts(at position: Int) -> Bool { words[words[position].sentence.lowerBound..<position].allSatisfy(\.isFiller) }

        private func sentenceEnds(after position: Int, before end: Int) -> Bool {
            words[end..<max(end, words[position].sentence.upperBound)].allSatisfy(\.isFiller)
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
            let end = step.crossesSentences ? words.count : words[position - 1].sentence.upperBound
            var skipped = 0
            var here = position
            while here < end {
                let word = words[here]
                if skipped >= step.gap.lowerBound {
                    for span in word.spans where allows(spans[span].symbol, step) {
                        if let found = match(pattern, step: index + 1, at: here + Int(spans[span].length)) { return found }
                    }
                }
                if word.isFiller {
                    here += 1
                    continue
                }
                guard skipped < step.gap.upperBound, pattern.ignoresNegation || !word.isNegated else { break }
                skipped += 1
                here += 1
            }
            return step.optional ? match(pattern, step: index + 1, at: position) : nil
        }
    }
}
