/// Scores a message for each domain by its routing terms.
struct DomainScorer: Sendable {
    private struct TermWeight: Sendable {
        var domain: Int
        var weight: Float
    }

    private let weights: SymbolTable<[TermWeight]>

    /// Maximum occurrences of one term that count, so that repetition does not outweigh different terms.
    private static let maximumCount = 2

    init(domains: DomainConfigurations, lexicon: inout LexiconBuilder) {
        var symbols: [String: Symbol] = [:]
        var weights = SymbolTable<[TermWeight]>()
        for (index, domain) in Domain.allCases.enumerated() {
            for term in domains[domain]?.terms ?? [] {
                let symbol = symbols[term.phrase] ?? lexicon.makeSymbol()
                symbols[term.phrase] = symbol
                lexicon.add(term.phrase, as: symbol)
                weights[symbol] = (weights[symbol] ?? []) + [TermWeight(domain: index, weight: term.weight)]
            }
        }
        self.weights = weights
    }

    /// Sums the weights of the terms found, per domain. A phrase masks the shorter phrases inside it.
    func scores(_ message: AnnotatedTokens) -> DomainScores {
        var values = [Float](repeating: 0, count: Domain.allCases.count)
        var counts: [Symbol: Int] = [:]
        var covered = 0
        for position in message.tokens.indices {
            var longest: Int32 = 0
            for span in message.spans(at: position) where span.length > longest && weights[span.symbol] != nil { longest = span.length }
            guard position + Int(longest) > covered else { continue }
            covered = position + Int(longest)
            for span in message.spans(at: position) where span.length == longest {
                guard let terms = weights[span.symbol] else { continue }
                counts[span.symbol, default: 0] += 1
                guard counts[span.symbol, default: 0] <= DomainScorer.maximumCount else { continue }
                for term in terms { values[term.domain] += term.weight }
            }
        }
        return DomainScores(values: values, none: DomainRouter.noneScore, wordCount: message.tokens.count)
    }
}
