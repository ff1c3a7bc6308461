/// Counts the routing terms of a message.
struct DomainScorer: Sendable {
    private struct Vote: Sendable {
        var domain: Int
        var weight: Float
    }

    private let weights: SymbolTable<[Vote]>

    /// A term counts at most twice (facts §5.2), so that repetition does not outweigh breadth.
    private static let mostCounted = 2

    init(domains: DomainConfigurations, lexicon: inout LexiconBuilder) {
        var symbols: [String: Symbol] = [:]
        var weights = SymbolTable<[Vote]>()
        for (index, domain) in Domain.allCases.enumerated() {
            for term in domains[domain]?.terms ?? [] {
                let symbol = symbols[term.phrase] ?? lexicon.makeSymbol()
                symbols[term.phrase] = symbol
                lexicon.add(term.phrase, as: symbol)
                weights[symbol] = (weights[symbol] ?? []) + [Vote(domain: index, weight: term.weight)]
            }
        }
        self.weights = weights
    }

    /// The sum of the weights of the terms found, a domain; a phrase hides the shorter phrases inside it.
    func scores(_ reading: Reading) -> DomainScores {
        var values = [Float](repeating: 0, count: Domain.allCases.count)
        var counts: [Symbol: Int] = [:]
        var covered = 0
        for position in reading.tokens.indices {
            let terms = reading.spans(at: position).filter { weights[$0.symbol] != nil }
            guard let longest = terms.map(\.length).max(), position + Int(longest) > covered else { continue }
            covered = position + Int(longest)
            for span in terms where span.length == longest {
                counts[span.symbol, default: 0] += 1
                guard counts[span.symbol, default: 0] <= DomainScorer.mostCounted else { continue }
                for vote in weights[span.symbol] ?? [] { values[vote.domain] += vote.weight }
            }
        }
        return DomainScores(values: values, none: DomainRouter.noneScore, wordCount: reading.tokens.count)
    }
}
