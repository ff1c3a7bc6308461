import Foundation

extension MessageEncoder {
    /// Whether danger is open, so that this encoder has to read a message: a concern or more was found, or the previous model's probability of a
    /// crisis does not rule danger out.
    func isDangerOpen(after risk: RiskAssessment, probability: Float) -> Bool {
        risk.tier >= .concern || probability >= limits.lowestScore
    }

    /// Whether danger, or the domain of a message that was read at once, is open after the previous encoder, so that this one has to read it.
    func isOpen(_ previous: EncoderReading, grammar: RiskAssessment) -> Bool {
        isDangerOpen(after: grammar, probability: previous.crisisProbability)
            || previous.whole.map { previous.encoder.domainProbability($0) < limits.sureDomain } ?? false
    }

    /// Whether a message so little resembles a crisis that a hit of the grammar may be lowered.
    func isCalm(_ probabilities: [Float]) -> Bool { probabilities[MessageEncoder.crisis] < limits.lowestConfirmed }

    /// The place of the output for a crisis.
    static let crisis = CrisisClassifier.Label.allCases.firstIndex(of: .crisis) ?? 0

    /// The risk by the encoder, with that of the grammar. With `mayLower` (`isCalm`, all was read, and not `CrisisDetector.isFinal`) a hit of the
    /// grammar at tier 2 is lowered to a concern.
    func risk(_ probabilities: [Float], grammar: RiskAssessment, mayLower: Bool) -> RiskAssessment {
        let risk = CrisisClassifier.assess(probabilities, outputs: Array(outputs.prefix(CrisisClassifier.outputNames.count)))
        guard mayLower, grammar.tier == .crisis, risk.tier < .crisis else { return grammar.merged(with: risk) }
        var lowered = risk
        lowered.tier = .concern
        lowered.patterns += grammar.patterns.filter(CrisisGrammar.isFollowUp)
        return lowered
    }

    /// In the order of `CrisisClassifier.outputNames`. `previous`: by the previous model. It has a share in what is a crisis, because each knows
    /// crises that the other misses. The linear model names categories better.
    func probabilities(_ passages: [Passage], previous: [Float]) -> [Float] {
        outputs.prefix(CrisisClassifier.outputNames.count).enumerated().map { index, output in
            guard RiskCategory(rawValue: output.name) == nil else { return previous[index] }
            let score = passages.reduce(-.infinity) { max($0, $1.scores[index]) }
            return output.probability(index == MessageEncoder.crisis ? score + limits.previousWeight * previous[index].logOdds : score)
        }
    }
}

extension Float {
    /// The log odds of a probability, which counts as at least 0.0001 and at most 0.9999, as in training (`heads.py`).
    fileprivate var logOdds: Float {
        let probability = min(max(self, 1e-4), 1 - 1e-4)
        return log(probability / (1 - probability))
    }

    /// Between two probabilities, by their log odds. `share`: of the second.
    static func between(_ first: Float, _ second: Float, share: Float) -> Float {
        1 / (1 + exp(-((1 - share) * first.logOdds + share * second.logOdds)))
    }
}
