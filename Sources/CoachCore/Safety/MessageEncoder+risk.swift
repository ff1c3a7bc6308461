import Foundation

extension MessageEncoder {
    /// Whether a concern or more was found, or danger cannot be ruled out.
    func isOpen(_ first: RiskAssessment) -> Bool { first.tier >= .concern || (first.score ?? 0) >= limits.lowestScore }

    /// Whether a message was encoded whole, and so little resembles a crisis that a hit of the grammar may be lowered.
    func isCalm(_ passages: [Passage], linear: [Float]) -> Bool {
        passages.allSatisfy(\.isWhole) && probabilities(passages, linear: linear)[MessageEncoder.crisis] < limits.lowestConfirmed
    }

    private static let crisis = CrisisClassifier.Label.allCases.firstIndex(of: .crisis) ?? 0

    /// The risk by the encoder, with that of the grammar. With `mayLower` (`isCalm`, and not `CrisisDetector.isFinal`) a hit of the grammar at
    /// tier 2 is lowered to a concern. `linear`: the probabilities of the linear model.
    func risk(_ passages: [Passage], grammar: RiskAssessment, linear: [Float], mayLower: Bool) -> RiskAssessment {
        let risk = CrisisClassifier.assess(
            probabilities(passages, linear: linear), outputs: Array(outputs.prefix(CrisisClassifier.outputNames.count)))
        guard mayLower, grammar.tier == .crisis, risk.tier < .crisis else { return grammar.merged(with: risk) }
        var lowered = risk
        lowered.tier = .concern
        lowered.patterns += grammar.patterns.filter(CrisisGrammar.isFollowUp)
        return lowered
    }

    /// In the order of `CrisisClassifier.outputNames`. The linear model names categories better, and has a share in what is a crisis: each
    /// knows crises that the other misses.
    private func probabilities(_ passages: [Passage], linear: [Float]) -> [Float] {
        outputs.prefix(CrisisClassifier.outputNames.count).enumerated().map { index, output in
            guard RiskCategory(rawValue: output.name) == nil else { return linear[index] }
            let score = passages.reduce(-.infinity) { max($0, $1.scores[index]) }
            return output.probability(index == MessageEncoder.crisis ? score + limits.linearWeight * linear[index].logOdds : score)
        }
    }
}

extension Float {
    /// Of a probability, which counts as at least 0.0001 and at most 0.9999, as in training (`heads.py`).
    fileprivate var logOdds: Float {
        let probability = min(max(self, 1e-4), 1 - 1e-4)
        return log(probability / (1 - probability))
    }
}
