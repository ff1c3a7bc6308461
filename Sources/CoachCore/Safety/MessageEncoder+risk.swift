import Foundation

extension MessageEncoder {
    /// Whether this encoder has to read a message for danger: a concern or more was found, or the previous model's probability of a crisis does not rule
    /// danger out.
    func isDangerOpen(after risk: RiskAssessment, probability: Float) -> Bool {
        risk.tier >= .concern || probability >= limits.lowestScore
    }

    /// Whether this encoder has to read a message after the previous one: danger is open, or the domain of a message that was read at once.
    func isOpen(_ previous: EncoderReading, grammar: RiskAssessment) -> Bool {
        isDangerOpen(after: grammar, probability: previous.crisisProbability)
            || previous.whole.map { previous.encoder.domainProbability($0) < limits.sureDomain } ?? false
    }

    /// Whether the probability of a crisis is so low that a hit of the grammar may be lowered.
    func isCalm(_ probabilities: [Float]) -> Bool { probabilities[MessageEncoder.crisis] < limits.lowestConfirmed }

    /// The index of the output for a crisis.
    static let crisis = CrisisClassifier.Label.crisis.index

    /// The risk by the encoder and the grammar. With `mayLower` a tier 2 that only the grammar finds is lowered to a concern. The caller sets it when all
    /// of the message was read, `isCalm` is true, and `CrisisDetector.isFinal` is false.
    func risk(_ probabilities: [Float], grammar: RiskAssessment, mayLower: Bool) -> RiskAssessment {
        let risk = CrisisClassifier.assess(probabilities, outputs: Array(outputs.prefix(CrisisClassifier.outputNames.count)))
        guard mayLower, grammar.tier == .crisis, risk.tier < .crisis else { return grammar.merged(with: risk) }
        var lowered = risk
        lowered.tier = .concern
        lowered.patterns += grammar.patterns.filter(CrisisGrammar.isFollowUp)
        return lowered
    }

    /// The probabilities by this encoder, in the order of `CrisisClassifier.outputNames`. `previous` are those of the previous model. They count beside
    /// the encoder's for a crisis, because each model finds crises that the other misses, and alone for categories, which the linear model names better.
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
